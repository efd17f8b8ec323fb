/** Says below a field why it is red, or what else there is to know of it: else only those who point at it are told. */
export function showReasons(line: string, checks: readonly (boolean | string)[]): void {
  const reasons = checks.filter((check) => typeof check === 'string');
  $(line)
    .prop('hidden', reasons.length === 0)
    .empty()
    .append(reasons.map((reason) => $('<div>').text(reason)));
}
