/** Pictures per second of every scene; a key frame comes every second (scripts/make-fixture.ts). */
export const FRAMES_PER_SECOND = 10;
