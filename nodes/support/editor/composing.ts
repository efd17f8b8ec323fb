/** What some browsers call a key that went to the input method, after it has ended too. */
const PROCESSED = 229;

/** True of a key that belongs to the input method, as Enter does that confirms Japanese or Chinese text: it is none of the field. */
export function isComposing({ originalEvent, which }: JQuery.KeyDownEvent): boolean {
  return which === PROCESSED || originalEvent?.isComposing === true;
}
