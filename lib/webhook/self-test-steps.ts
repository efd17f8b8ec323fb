/** What a self-test looks at, in the order in which an alarm passes it. */
export const SELF_TEST_STEPS = ['name', 'connection', 'tls', 'answer', 'arrival'] as const;
export type SelfTestStep = (typeof SELF_TEST_STEPS)[number];

/** Why a step failed, told by a name that the editor has a text for, and what was seen. */
export type SelfTestFault =
  | 'unknown-name'
  | 'no-connection'
  | 'no-answer'
  | 'certificate'
  | 'unauthentic'
  | 'redirected'
  | 'other-server'
  | 'in-front'
  | 'not-arrived';

export interface SelfTestReport {
  url: string;
  /** It did not come to this node, but to a copy of it: another instance of Node-RED that shares the inbox. */
  elsewhere?: true;
  /** All steps before the one that failed have worked. */
  failed?: { step: SelfTestStep; fault: SelfTestFault; seen: string };
}
