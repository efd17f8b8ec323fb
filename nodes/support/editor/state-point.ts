/** A point that tells a good state from a bad one, by form as well as by colour. */
export function statePoint(isGood: boolean): JQuery {
  return $('<i class="fa" aria-hidden="true">').addClass(
    isGood ? 'fa-circle rvm-good' : 'fa-circle-o rvm-bad',
  );
}
