/** The steps of a self-test, in the order in which an alarm passes them. */
export const SELF_TEST_STEPS = ['name', 'connection', 'tls', 'answer', 'arrival'] as const;
export type SelfTestStep = (typeof SELF_TEST_STEPS)[number];

/** Why a step failed. The editor has a text for each name. */
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
  /** True where another instance of Node-RED that shares the inbox received the message, on a copy of this node. */
  elsewhere?: true;
  /** The step that failed; all steps before it have succeeded. */
  failed?: { step: SelfTestStep; fault: SelfTestFault; seen: string };
}
