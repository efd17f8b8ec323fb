/**
 * What is odd about a message that was accepted all the same (`msg.webhook.warnings`).
 *
 * - `agent-user`: the event names another Agent User than the one configured for the station
 * - `scheme`: the proof does not fit the configured scheme (a signature at an `https` station, a token in a signed message)
 * - `clock-skew`: `transmitTime` lies more than 20 seconds in the future
 * - `keys-stripped`: keys that would reach into object prototypes were removed
 * - `number-as-text`: a number that JavaScript cannot hold exactly was kept as text
 * - `unusual-version`: no version, or another major version than 1
 * - `time-unreadable`: a time of the message could not be read and was left as it is
 * - `clip-uri`: the clip address does not look like a public web address; nothing here fetches it
 */
export type Warning =
  | 'agent-user'
  | 'scheme'
  | 'clock-skew'
  | 'keys-stripped'
  | 'number-as-text'
  | 'unusual-version'
  | 'time-unreadable'
  | 'clip-uri';
