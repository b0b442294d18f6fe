//! Home of the test suites; the suites themselves are the integration tests beside this file.
