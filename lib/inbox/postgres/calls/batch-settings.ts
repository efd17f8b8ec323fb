import type { Step } from './step';

/*
 * Settings of one transaction alone, whatever the database or the role has as its default: as expressions, so that they cost no
 * statement of their own.
 */

/**
 * Plans are made once, often when the tables are still small: then reading all of one looks cheaper than its index, and still
 * is what the plan does when there are a million rows. Nothing of a batch is worth being compiled, either.
 */
const PLANNING = `set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`;
/** Without the warnings of the server nobody would know of a commit that is on one disk alone. */
export const WARNED = `set_config('client_min_messages', 'warning', true)`;
/**
 * Of an instance that is cut off in the middle of what it asks the server may hear nothing more for hours: what that has locked
 * would keep all others waiting.
 */
export const NO_GHOST = `set_config('idle_in_transaction_session_timeout', '10000', true)`;
/** As durable as the server is set up to be, but for one that would not even wait for its own disk. */
export const DURABLE = `CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`;

/** Of a batch. */
export const BATCH_SETTINGS = [PLANNING, WARNED, NO_GHOST, DURABLE].join(', ');

/** Where no other statement of the batch does it. */
export const SETTINGS_STEP: Step = {
  statement: { name: 'rvm_settings', text: `SELECT ${BATCH_SETTINGS}` },
  values: [],
};
