"""Cells of k 10: sixty.py PAGEWAY DIR LABEL OUT [SETS] [MEMORIES] [KS]"""
import json, pathlib, subprocess, sys
program, place, label, out = sys.argv[1:5]
a = sys.argv[5:]
sets = (a[0] if a else "gist,text,sift").split(","); mems=(a[1] if len(a)>1 else "5%,10%,20%,30%").split(","); ks=[int(x) for x in (a[2] if len(a)>2 else "10").split(",")]
KINDS = {"text": ("cosine", "fbin"), "gist": ("l2", "fbin"), "sift": ("l2", "u8bin")}
def run(*w): return subprocess.run([program, *map(str, w)], capture_output=True, text=True)
with open(out, "a") as rec:
    for name in sets:
        metric, end = KINDS[name]
        for kind in ("like","own"):
            t=f"{place}/{name}.{kind}.gt.ibin"
            if not pathlib.Path(t).exists():
                run("ground-truth","--data",f"{place}/{name}.base.{end}","--queries",f"{place}/{name}.{kind}.{end}","--metric",metric,"-k",100,"--out",t).check_returncode()
        for mem in mems:
            index=f"{place}/{label}-{name}-{mem.strip('%')}"
            if not pathlib.Path(index).exists():
                run("build","--data",f"{place}/{name}.base.{end}","--out",index,"--metric",metric,"--memory",mem,"--quiet").check_returncode()
            for kind in ("like","own"):
                for k in ks:
                    for asked in (.8,.9,.95,.98,.99):
                        f=run("search",index,"--queries",f"{place}/{name}.{kind}.{end}","--truth",f"{place}/{name}.{kind}.gt.ibin","-k",k,"--recall",asked,"--json","--threads",2)
                        if f.returncode: print(name,mem,kind,k,asked,f.stderr.strip()[-150:],file=sys.stderr); continue
                        f=json.loads(f.stdout)
                        c={"bin":label,"set":name,"mem":mem,"q":kind,"k":k,"asked":asked,"got":f["recall"],"p5":f["recall_p5"],"pages":f["pages_per_query"],"L":f["list_size"],"unlike":f["unlike"],"over":round(f["recall"]-asked,4)}
                        print(json.dumps(c),file=rec,flush=True)
