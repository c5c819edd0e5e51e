// SPDX-License-Identifier: MIT OR GPL-2.0
// Micro-measurements of one NVIDIA GPU that the simulator must predict:
// PCIe copies, UVM fault-in, time slicing between two processes, context switch.
// Managed memory stays far under what the card has free.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <string>
#include <unistd.h>
#include <sys/wait.h>
#include <sys/mman.h>
#include <time.h>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){printf("ERR %s line %d: %s\n",#x,__LINE__,cudaGetErrorString(e_)); fflush(stdout); exit(1);} }while(0)
static double now(){timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+t.tv_nsec*1e-9;}
__device__ __forceinline__ uint64_t gtime(){uint64_t t;asm volatile("mov.u64 %0,%globaltimer;":"=l"(t));return t;}

__global__ void touch(char*p,size_t n,size_t stride,size_t per_thread){ // each thread touches 'per_thread' strided words
  size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; size_t T=(size_t)gridDim.x*blockDim.x;
  for(size_t o=i*stride;o<n;o+=T*stride) p[o]+=1; }
__global__ void touch_perm(char*p,const uint32_t*idx,size_t n,size_t page){
  size_t i=(size_t)blockIdx.x*blockDim.x+threadIdx.x; size_t T=(size_t)gridDim.x*blockDim.x;
  for(size_t k=i;k<n;k+=T) p[(size_t)idx[k]*page]+=1; }
__global__ void chase(char*p,const uint32_t*idx,int n,size_t page,uint64_t*out){ // one thread, one fault at a time
  for(int k=0;k<n;k++){ uint64_t a=gtime(); volatile char*q=p+(size_t)idx[k]*page; char v=*q; if(v==77) a-=1000000000ull; uint64_t b=gtime(); out[k]=b-a; } }
__global__ void spin(uint64_t ns){ uint64_t a=gtime(); while(gtime()-a<ns){} }
__global__ void gaps(uint64_t ns,uint64_t thr,uint64_t*rec,int cap,int*cnt){ // record pauses of this SM's clock view
  if(threadIdx.x||blockIdx.x){ uint64_t a=gtime(); while(gtime()-a<ns){} return; }
  uint64_t a=gtime(),last=a; int c=0; while(true){ uint64_t t=gtime(); if(t-last>thr && c<cap){rec[2*c]=last;rec[2*c+1]=t;c++;} last=t; if(t-a>ns)break;} *cnt=c; }
static void shuffle(std::vector<uint32_t>&v,uint32_t s){ for(size_t i=v.size();i>1;i--){ s=s*1664525u+1013904223u; std::swap(v[i-1],v[(size_t)(((uint64_t)s*i)>>32)]);} }

static void pcie(){
  size_t M=256u<<20; char*h,*h2,*d,*d2; CK(cudaHostAlloc(&h,M,0));CK(cudaHostAlloc(&h2,M,0));CK(cudaMalloc(&d,M));CK(cudaMalloc(&d2,M)); memset(h,1,M);memset(h2,1,M);
  cudaStream_t a,b;CK(cudaStreamCreate(&a));CK(cudaStreamCreate(&b));
  for(size_t s=4096;s<=M;s*=4){ int n=std::max<size_t>(4,std::min<size_t>(2000,(1u<<30)/s/4)); double r[3];
    for(int m=0;m<3;m++){ CK(cudaDeviceSynchronize()); double t=now();
      for(int i=0;i<n;i++){ size_t o=((size_t)i*s)%(M-s+1)/s*s; if(m!=1)CK(cudaMemcpyAsync(d+o,h+o,s,cudaMemcpyHostToDevice,a)); if(m!=0)CK(cudaMemcpyAsync(h2+o,d2+o,s,cudaMemcpyDeviceToHost,b)); }
      CK(cudaDeviceSynchronize()); r[m]=(now()-t)/n; }
    printf("pcie size %zu h2d_us %.3f d2h_us %.3f both_us %.3f  GB/s %.2f %.2f %.2f\n",s,r[0]*1e6,r[1]*1e6,r[2]*1e6,s/r[0]/1e9,s/r[1]/1e9,2*s/r[2]/1e9); }
  CK(cudaFree(d));CK(cudaFree(d2));CK(cudaFreeHost(h));CK(cudaFreeHost(h2)); }

static void uvm(){
  size_t sizes[]={64u<<20,512u<<20,(size_t)2<<30}; 
  for(size_t n:sizes) for(int mode=0;mode<8;mode++){ if(mode==6) continue;
    char*p; CK(cudaMallocManaged(&p,n)); 
    if(mode!=4) memset(p,1,n); // host first touch, except 'populate'
    CK(cudaDeviceSynchronize()); double t=now(); const char*nm="";
    if(mode==0){ nm="seq_4k"; touch<<<1024,256>>>(p,n,4096,1);}    
    if(mode==1){ nm="seq_64k"; touch<<<256,256>>>(p,n,65536,1);}    
    if(mode==2){ nm="one_per_2M"; touch<<<64,64>>>(p,n,2u<<20,1);}    
    if(mode==3){ nm="rand_64k"; std::vector<uint32_t> v(n/65536); for(size_t i=0;i<v.size();i++)v[i]=i; shuffle(v,7); uint32_t*di; CK(cudaMalloc(&di,v.size()*4)); CK(cudaMemcpy(di,v.data(),v.size()*4,cudaMemcpyHostToDevice)); t=now(); touch_perm<<<256,256>>>(p,di,v.size(),65536); CK(cudaDeviceSynchronize()); }
    if(mode==4){ nm="populate_zero"; touch<<<1024,256>>>(p,n,4096,1);}    
    if(mode==5){ nm="prefetch_h2d"; cudaMemLocation L; L.type=cudaMemLocationTypeDevice; L.id=0; CK(cudaMemPrefetchAsync(p,n,L,0,0)); }
    if(mode==7){ nm="prefetch_d2h"; cudaMemLocation L; L.type=cudaMemLocationTypeDevice; L.id=0; CK(cudaMemPrefetchAsync(p,n,L,0,0)); CK(cudaDeviceSynchronize()); t=now(); L.type=cudaMemLocationTypeHost; L.id=0; CK(cudaMemPrefetchAsync(p,n,L,0,0)); }
    CK(cudaDeviceSynchronize()); t=now()-t; printf("uvm %s bytes %zu s %.6f GB/s %.3f\n",nm,n,t,n/t/1e9); fflush(stdout);
    CK(cudaFree(p)); }
  // single-fault latency, spaced one 64K page in each distinct 2M block, and neighbours inside a block
  size_t n=(size_t)1<<30; int K=256; char*p; uint64_t*out; uint32_t*di; CK(cudaMallocManaged(&p,n)); memset(p,1,n); CK(cudaMalloc(&di,K*4)); CK(cudaMallocHost(&out,K*8));
  std::vector<uint32_t> v(K); for(int i=0;i<K;i++) v[i]=(uint32_t)((i*1ull%512)*32 + 5); CK(cudaMemcpy(di,v.data(),K*4,cudaMemcpyHostToDevice));
  chase<<<1,1>>>(p,di,K,65536,out); CK(cudaDeviceSynchronize()); std::vector<uint64_t> o(out,out+K); std::sort(o.begin(),o.end()); printf("fault_latency distinct_2M_blocks ns p10 %lu p50 %lu p90 %lu max %lu\n",o[K/10],o[K/2],o[K*9/10],o[K-1]);
  CK(cudaFree(p)); CK(cudaMallocManaged(&p,n)); memset(p,1,n); for(int i=0;i<K;i++) v[i]=i; CK(cudaMemcpy(di,v.data(),K*4,cudaMemcpyHostToDevice)); chase<<<1,1>>>(p,di,K,65536,out); CK(cudaDeviceSynchronize()); printf("fault_latency sequential_64K first 40 ns:"); for(int i=0;i<40;i++) printf(" %lu",out[i]); printf("\n"); CK(cudaFree(p)); }

static void timeslice(int procs,int blocks,int threads,double secs){
  int fds[8][2]; int go[2]; if(pipe(go))exit(1);
  for(int k=0;k<procs;k++){ if(pipe(fds[k]))exit(1); pid_t c=fork(); if(!c){ close(go[1]); CK(cudaSetDevice(0)); uint64_t*rec;int*cnt; CK(cudaMallocHost(&rec,16*40000)); CK(cudaMallocHost(&cnt,4)); *cnt=0; spin<<<1,1>>>(1000); CK(cudaDeviceSynchronize()); char b='r'; if(write(fds[k][1],&b,1)!=1)exit(1); if(read(go[0],&b,1)<0)exit(1);
      gaps<<<blocks,threads>>>((uint64_t)(secs*1e9),20000,rec,40000,cnt); CK(cudaDeviceSynchronize());
      int c2=*cnt; if(write(fds[k][1],&c2,4)!=4)exit(1); size_t left=(size_t)c2*16; char*q=(char*)rec; while(left){ ssize_t w=write(fds[k][1],q,left); if(w<=0)exit(1); q+=w;left-=w;} _exit(0);} close(fds[k][1]); }
  for(int k=0;k<procs;k++){ char b; if(read(fds[k][0],&b,1)!=1){printf("child failed\n");return;} }
  close(go[0]); close(go[1]);
  std::vector<std::vector<uint64_t>> R(procs);
  for(int k=0;k<procs;k++){ int c=0; if(read(fds[k][0],&c,4)!=4)continue; R[k].resize(2*(size_t)c); size_t left=(size_t)c*16; char*q=(char*)R[k].data(); while(left){ ssize_t w=read(fds[k][0],q,left); if(w<=0)break; q+=w;left-=w;} }
  while(wait(0)>0){}
  for(int k=0;k<procs;k++){ std::vector<double> off,on; for(size_t i=0;i+1<R[k].size()/2;i++){ off.push_back((R[k][2*i+1]-R[k][2*i])/1e3); on.push_back((R[k][2*i+2]-R[k][2*i+1])/1e3);} std::sort(off.begin(),off.end()); std::sort(on.begin(),on.end()); if(off.size()>3) printf("timeslice procs %d grid %dx%d proc %d n %zu on_us p10 %.1f p50 %.1f p90 %.1f off_us p10 %.1f p50 %.1f p90 %.1f max %.1f\n",procs,blocks,threads,k,off.size(),on[on.size()/10],on[on.size()/2],on[on.size()*9/10],off[off.size()/10],off[off.size()/2],off[off.size()*9/10],off.back()); else printf("timeslice procs %d grid %dx%d proc %d gaps %zu\n",procs,blocks,threads,k,off.size()); }
  if(procs==2&&R[0].size()>6&&R[1].size()>6){ // switch gap: end of one's on-period to start of the other's
    std::vector<double> sw; size_t j=0; for(size_t i=0;i<R[0].size()/2;i++){ uint64_t end0=R[0][2*i]; while(j<R[1].size()/2 && R[1][2*j+1]<end0) j++; if(j<R[1].size()/2){ double d=((double)R[1][2*j+1]-(double)end0)/1e3; if(d<2000) sw.push_back(d);} } std::sort(sw.begin(),sw.end()); if(sw.size()>3) printf("switch_gap grid %dx%d n %zu us p10 %.1f p50 %.1f p90 %.1f\n",blocks,threads,sw.size(),sw[sw.size()/10],sw[sw.size()/2],sw[sw.size()*9/10]); }
  fflush(stdout); }

static void launch(){ cudaStream_t s; CK(cudaStreamCreate(&s)); cudaEvent_t e; CK(cudaEventCreateWithFlags(&e,cudaEventDisableTiming)); for(int w=0;w<2;w++){ int N=20000; double t=now(); for(int i=0;i<N;i++) spin<<<1,1,0,s>>>(0); double t1=now()-t; CK(cudaStreamSynchronize(s)); double t2=now()-t; t=now(); for(int i=0;i<N;i++) CK(cudaEventRecord(e,s)); double t3=now()-t; CK(cudaStreamSynchronize(s)); t=now(); for(int i=0;i<N;i++) cudaEventQuery(e); double t4=now()-t; printf("launch submit_us %.3f throughput_us %.3f event_record_us %.3f event_query_us %.3f\n",t1/N*1e6,t2/N*1e6,t3/N*1e6,t4/N*1e6);} }

// W distinct 64K pages touched at once (one thread each), one block of warps: service time of a batch of W faults
static void width(){ size_t n=(size_t)1<<30; for(int span=0;span<2;span++) for(int W=1;W<=4096;W*=4){ std::vector<double> r; for(int rep=0;rep<5;rep++){ char*p; CK(cudaMallocManaged(&p,n)); memset(p,1,n); std::vector<uint32_t> v(W); for(int i=0;i<W;i++) v[i]=span? (uint32_t)(((uint64_t)i*(n/65536)/W)) : (uint32_t)i; uint32_t*di; CK(cudaMalloc(&di,W*4)); CK(cudaMemcpy(di,v.data(),W*4,cudaMemcpyHostToDevice)); CK(cudaDeviceSynchronize()); double t=now(); touch_perm<<<(W+31)/32,32>>>(p,di,W,65536); CK(cudaDeviceSynchronize()); r.push_back(now()-t); CK(cudaFree(p)); CK(cudaFree(di)); } std::sort(r.begin(),r.end()); printf("width %s W %d us p50 %.1f min %.1f\n",span?"spread":"contig",W,r[2]*1e6,r[0]*1e6); } }
int main(int argc,char**argv){ std::string w=argc>1?argv[1]:"all"; 
  if(w=="slice"){ timeslice(1,1,32,1.0); timeslice(2,1,32,2.0); timeslice(2,132,1024,2.0); timeslice(2,264,1024,2.0); return 0;}
  cudaDeviceProp d; CK(cudaGetDeviceProperties(&d,0)); printf("device %s sms %d mem %zu\n",d.name,d.multiProcessorCount,d.totalGlobalMem);
  if(w=="pcie"||w=="all") pcie(); if(w=="uvm"||w=="all") uvm(); if(w=="launch"||w=="all") launch(); if(w=="width"||w=="all") width(); return 0; }
