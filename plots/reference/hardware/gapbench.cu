// SPDX-License-Identifier: MIT OR GPL-2.0
// Two processes share one GPU by the driver's default time slices. HP launches short kernels with host-side gaps (an eager LLM step:
// n kernels of d us, one every g us, a synchronisation after each step). LP keeps long kernels queued. Prints HP step time and LP speed, alone and together.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <unistd.h>
#include <sys/wait.h>
#include <time.h>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e_=(x); if(e_!=cudaSuccess){printf("ERR %s %d %s\n",#x,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
static double now(){timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+t.tv_nsec*1e-9;}
__device__ float sink; __global__ void work(long long n){ float x=threadIdx.x; for(long long i=0;i<n;i++) x=fmaf(x,1.0000001f,0.5f); if(x==12345.f) sink=x; } // true work: stands still while switched out (clock64 does not)
struct Cal{int b,t;double per_us;}; static Cal cal[8]; static int ncal;
static void calibrate(int b,int t){ int p[2]; if(pipe(p))exit(1); if(!fork()){ work<<<b,t>>>(1000); CK(cudaDeviceSynchronize()); cudaEvent_t e0,e1; CK(cudaEventCreate(&e0));CK(cudaEventCreate(&e1)); double best=0; for(int r=0;r<3;r++){ CK(cudaEventRecord(e0)); for(int i=0;i<5;i++) work<<<b,t>>>(4000000); CK(cudaEventRecord(e1)); CK(cudaEventSynchronize(e1)); float ms; CK(cudaEventElapsedTime(&ms,e0,e1)); best=20e6/(ms*1e3);} if(write(p[1],&best,8)<0)exit(1); _exit(0);} double v=0; if(read(p[0],&v,8)<0)exit(1); wait(0); cal[ncal++]={b,t,v}; printf("calibrated %dx%d: %.1f iterations/us\n",b,t,v); }
static long long it(double us,int b,int t){ for(int i=0;i<ncal;i++) if(cal[i].b==b&&cal[i].t==t) return (long long)(us*cal[i].per_us); printf("no calibration\n"); exit(1);} 
static void hp(int n,double d,double g,double secs,int out,int blocks){ cudaStream_t s; CK(cudaStreamCreate(&s)); std::vector<double> v; long long N=it(d,blocks,256); double t0=now(); while(now()-t0<secs){ double a=now(); for(int i=0;i<n;i++){ double due=a+i*g*1e-6; while(now()<due){} work<<<blocks,256,0,s>>>(N); } CK(cudaStreamSynchronize(s)); v.push_back((now()-a)*1e3);} std::sort(v.begin(),v.end()); double r[4]={(double)v.size(),v[v.size()/2],v[v.size()*99/100],0}; if(write(out,r,sizeof r)<0)exit(1); }
static void lp(double k,double secs,int out,int blocks,int th){ cudaStream_t s; CK(cudaStreamCreate(&s)); cudaEvent_t e[4]; for(auto&x:e)CK(cudaEventCreateWithFlags(&x,cudaEventDisableTiming)); long long N=it(k,blocks,th); double t0=now(); long c=0; while(now()-t0<secs){ if(c>=4)CK(cudaEventSynchronize(e[c%4])); work<<<blocks,th,0,s>>>(N); CK(cudaEventRecord(e[c%4],s)); c++; } CK(cudaStreamSynchronize(s)); double r[4]={(double)c,c*k*1e-6/(now()-t0),0,0}; if(write(out,r,sizeof r)<0)exit(1); }
static void trial(const char*nm,int n,double d,double g,double k,bool h,bool l,int hb,int lth){ int p[2][2]; for(int i=0;i<2;i++) if(pipe(p[i]))exit(1); if(h){ if(!fork()){ work<<<1,1>>>(1000); CK(cudaDeviceSynchronize()); usleep(600000); hp(n,d,g,3.0,p[0][1],hb); _exit(0);} } if(l){ if(!fork()){ work<<<1,1>>>(1000); CK(cudaDeviceSynchronize()); usleep(300000); lp(k,3.6,p[1][1],132,lth); _exit(0);} }
  double a[4]={0},b[4]={0}; if(h&&read(p[0][0],a,sizeof a)<0)exit(1); if(l&&read(p[1][0],b,sizeof b)<0)exit(1); while(wait(0)>0){} printf("gap %s n %d kernel_us %.0f every_us %.0f hp_blocks %d lp_kernel_us %.0f lp_threads %d : step_ms p50 %.2f p99 %.2f steps %.0f  lp_speed %.3f\n",nm,n,d,g,hb,k,lth,a[1],a[2],a[0],b[1]); fflush(stdout); for(int i=0;i<2;i++){close(p[i][0]);close(p[i][1]);} }
int main(){ calibrate(132,256); calibrate(132,1024); double D[][2]={{17,82},{70,82},{82,82}}; for(auto&x:D){ trial("hp_alone",300,x[0],x[1],0,true,false,132,0); trial("shared",300,x[0],x[1],5000,true,true,132,1024);} trial("lp_alone",0,0,0,5000,false,true,0,1024); trial("shared",1,1000,20000,5000,true,true,132,1024); return 0; }
