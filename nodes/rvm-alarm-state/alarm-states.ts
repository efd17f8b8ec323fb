/** An *alarm state* node that lives. */
export interface LivingAlarmState {
  readonly nodeId: string;
  /** Unlike that of any other, and of its next run. */
  readonly life: string;
  /** Of its state: its inbox and its key. Nodes with the same one share it. */
  readonly shared: string;
  /** Names of the groups that are raised. */
  raised(): string[];
}

const states = new Set<LivingAlarmState>();

/** Returns the way to end it. */
export function addAlarmState(state: LivingAlarmState): () => void {
  states.add(state);
  return () => states.delete(state);
}

export function alarmStates(): readonly LivingAlarmState[] {
  return [...states];
}

/** How many nodes have the state of this one, itself included. */
export function countSharing({ shared }: Pick<LivingAlarmState, 'shared'>): number {
  return [...states].filter((other) => other.shared === shared).length;
}
