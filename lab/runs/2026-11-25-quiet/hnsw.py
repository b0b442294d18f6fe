import numpy as np,hnswlib,sys,time
D="/work/data-unpacked/"
def fb(p,dt):
    n,d=np.fromfile(p,dtype=np.uint32,count=2); return np.fromfile(p,dtype=dt,offset=8).reshape(n,d)
for s,q in (("text-wordnet-80k","text-wordnet.query.fbin"),("photo-gist-24k","photo-gist.query.fbin")):
    X=fb(D+s+".base.fbin",np.float32);Q=fb(D+q,np.float32);
    n,k=np.fromfile(D+s+".gt.ibin",dtype=np.uint32,count=2);G=np.fromfile(D+s+".gt.ibin",dtype=np.uint32,offset=8,count=n*k).reshape(n,k)[:,:10]
    for M in (16,32):
        h=hnswlib.Index("l2",X.shape[1]);h.init_index(len(X),M=M,ef_construction=200,random_seed=1);h.set_num_threads(2);h.add_items(X)
        for ef in (10,14,20,28,40,56,80,110,150):
            h.set_ef(ef);I,_=h.knn_query(Q,10)
            r=np.mean([len(set(a)&set(b))/10 for a,b in zip(I,G)])
            if r>=.95: break
        for t in (1,2):
            b=[]
            for _ in range(3):
                t0=time.time();h.knn_query(Q,10,num_threads=t);b.append(len(Q)/(time.time()-t0))
            print(s,"hnswlib M",M,"ef",ef,"recall %.4f"%r,"threads",t,[round(x) for x in b],flush=True)
