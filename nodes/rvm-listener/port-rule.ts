/** True for the number of a port that can be opened. Shared by the dialog and the server. */
export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}
