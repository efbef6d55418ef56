import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** A resource by its name, leading to its page. Ids have `:` and `/` in them; the router encodes them. */
export function ResourceLink({ id, name, strong = false }: { id: string; name: string; strong?: boolean }) {
  return (
    <Anchor
      size="sm"
      fw={strong ? 600 : 400}
      title={id}
      renderRoot={(props) => <Link to="/infrastructure/$id" params={{ id }} {...props} />}
    >
      {name}
    </Anchor>
  );
}
