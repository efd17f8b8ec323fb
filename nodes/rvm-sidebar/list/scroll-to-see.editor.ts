/** Scrolls the sidebar so far that this is to be seen whole, or from its beginning on, below what stays at the top. */
export function scrollToSee(element: JQuery): void {
  const [sidebar] = element.closest('.rvm-sidebar').get();
  const [part] = element.get();
  if (sidebar === undefined || part === undefined) return;
  const { top, bottom } = part.getBoundingClientRect();
  const view = sidebar.getBoundingClientRect();
  const covered = $(sidebar).find('.rvm-top').outerHeight() ?? 0;
  const hidden = Math.min(bottom - view.bottom, top - view.top - covered);
  if (hidden > 0) sidebar.scrollTop += hidden;
}
