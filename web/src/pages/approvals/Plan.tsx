import { Anchor, Group, Stack, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { plural } from '../../lib/format';
import { visible } from '../../lib/visible';
import { untagged } from '../../lib/said';
import { Folded } from '../../ui/Code';
import { ChangeTable, UnifiedDiff } from '../../ui/Json';
import { Said } from '../../ui/Said';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { type Approval, planRows, reading, riskWords } from './words';

/** Says that a text had characters that nobody would have seen. */
function Hidden({ count }: { count: number }) {
  return <div role="note"><ToneBadge tone="write" icon="failed">{plural(count, 'hidden or non-ASCII character')} written out as ⟦U+…⟧</ToneBadge></div>;
}

/** The exact plan: what happens, step by step; the command; how a file differs. */
export function Plan({ approval }: { approval: Approval }) {
  const { plan } = approval;
  return (
    <Stack gap="sm">
      {approval.edited_from && (
        <Stack gap={4}>
          <Text size="sm" fw={600}>Edited by {approval.edited_from.by}: changes from the agent’s proposal</Text>
          <ChangeTable changes={approval.edited_from.changes} />
        </Stack>
      )}
      <Table className="plan" verticalSpacing={4} withTableBorder aria-label="The exact plan">
        <Table.Tbody>
          {planRows(plan).map((row, index) => (
            <Table.Tr key={index}>
              <Table.Th scope="row">{row.label}</Table.Th>
              <Table.Td className={row.exact ? 'mono prewrap' : 'prewrap'}>
                {row.long ? <Folded text={row.value} open={!plan.diff} /> : row.value}
                {row.hidden > 0 && <Hidden count={row.hidden} />}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {plan.diff && <UnifiedDiff text={plan.diff} />}
    </Stack>
  );
}

/** Why, what it touches, what it rests on, who asked. */
export function Reasons({ approval }: { approval: Approval }) {
  const { plan } = approval;
  return (
    <dl className="facts">
      {approval.why && (
        <>
          <dt>Why</dt>
          <dd>“{visible(approval.why)}” <span className="dim">— the agent</span></dd>
        </>
      )}
      <dt>Affects</dt>
      <dd>{approval.blast_radius}</dd>
      <dt>Risk</dt>
      <dd>
        <Group gap={6} component="span" display="inline-flex">
          {plan.risk === 'high' && <ToneBadge tone="write" icon="failed">high risk</ToneBadge>}
          <span>{riskWords(plan.risk)}</span>
        </Group>
      </dd>
      {approval.reasons.length > 0 && (
        <>
          <dt>Approval required because</dt>
          <dd><Said text={visible(approval.reasons.map(untagged).join('; '))} /></dd>
        </>
      )}
      <dt>Evidence</dt>
      <dd>
        {approval.evidence.length === 0 ? (
          <span className="dim">no reading of this resource</span>
        ) : (
          <details>
            <summary>{plural(approval.evidence.length, 'reading')} of this resource</summary>
            <ul className="evidence">
              {approval.evidence.map((each) => (
                <li key={each.id}>
                  <Anchor renderRoot={(props) => <Link {...props} to="/sessions/$id" params={{ id: approval.session }} hash={`evidence-${each.id}`} />} size="sm" className={reading(each).exact ? 'mono' : undefined}>
                    {reading(each).asked}
                  </Anchor>{' '}
                  <span className="dim"><Ago at={each.taken_at} /></span>
                  <div className="mono dim truncate">{reading(each).line}</div>
                </li>
              ))}
            </ul>
          </details>
        )}
      </dd>
      <dt>Requested by</dt>
      <dd>
        {approval.owner ?? 'an alert'}, <Ago at={approval.opened_at} />, in{' '}
        <Anchor renderRoot={(props) => <Link {...props} to="/sessions/$id" params={{ id: approval.session }} />} size="sm">
          {approval.session_title}
        </Anchor>
      </dd>
    </dl>
  );
}
