/* All methods, in the order of --method. */
#include "pipeline/stages/detect/detect.h"

const HcDetectMethod *const hc_detect_methods[] = {&hc_detect_mf,  &hc_detect_cem,  &hc_detect_ace,
                                                   &hc_detect_amf, &hc_detect_osp,  &hc_detect_sam,
                                                   &hc_detect_sid, &hc_detect_mtmf, NULL};
