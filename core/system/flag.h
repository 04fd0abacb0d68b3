/* A flag that a signal handler or a thread sets, and that other threads look at: 0 until then. */
#ifndef HC_CORE_FLAG_H
#define HC_CORE_FLAG_H

typedef struct HcFlag {
    int value;
} HcFlag;

/* Needs no lock, so that handlers may call it. Nothing else is handed over with the flag. */
static inline void hc_flag_set(HcFlag *flag, int value) {
    __atomic_store_n(&flag->value, value, __ATOMIC_RELAXED);
}

/* NULL is a flag that is never set. */
static inline int hc_flag(const HcFlag *flag) {
    return flag == 0 ? 0 : __atomic_load_n(&flag->value, __ATOMIC_RELAXED);
}

#endif
