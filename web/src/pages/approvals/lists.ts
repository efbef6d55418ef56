// Which cards a list shows. What was decided here stays, so that the same card tells what came of it; an edited plan is
// shown inside the card that it was edited in.

import type { Approval } from './words';

/** The ids to show: those kept from before in their places, then new ones as the server orders them. */
export function cardsToShow(kept: readonly string[], open: readonly Approval[]): string[] {
  const shown = [...kept];
  for (const approval of open) {
    const parent = approval.edited_from?.hold;
    if (shown.includes(approval.id) || (parent !== undefined && shown.includes(parent))) continue;
    shown.push(approval.id);
  }
  // A chain of edits: the second edit's parent is inside a card as well.
  const parents = new Map(open.flatMap((each) => (each.edited_from ? [[each.id, each.edited_from.hold] as const] : [])));
  return shown.filter((id) => {
    const parent = parents.get(id);
    return parent === undefined || !shown.includes(parent);
  });
}
