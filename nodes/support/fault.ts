/** Kind and place of an error that nobody foresaw, for the log. Not its message: that may quote what was asked, or a secret. */
export function faultOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.name).replace(error.message, '') : typeof error;
}
