/**
 * True for a folder that means what it says. Node-RED replaces a variable that is the whole value and no other, and `~` is
 * a habit of shells: both would make a folder of that very name. Shared by the dialog and the server.
 */
export function isUsableFolder(folder: string): boolean {
  return !/\$[{(]/.test(folder) && !folder.startsWith('~');
}
