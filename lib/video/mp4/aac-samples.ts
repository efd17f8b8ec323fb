/** Samples of an access unit of AAC (ISO/IEC 14496-3, section 4.5.2.1). */
export const AAC_SAMPLES = 1024;
