// The window's title: what page this is, and in front of it how many approvals wait.

let page = '';
let badge = 0;

function show(): void {
  const name = page === '' ? 'Interlock' : `${page} · Interlock`;
  document.title = badge > 0 ? `(${badge}) ${name}` : name;
}

/** Which page is open. */
export function setPageTitle(title: string): void {
  page = title;
  show();
}

/** How many approvals wait. */
export function setTitleBadge(waiting: number): void {
  badge = waiting;
  show();
}
