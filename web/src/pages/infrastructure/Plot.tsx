// One number over time. One plot for each number, in the colour of text: the four colours mean other things. The same
// numbers stand in a table under it.

import 'uplot/dist/uPlot.min.css';
import './infrastructure.css';

import { Group, Table, Text, useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';

import type { Schemas } from '../../api/client';
import { amount, factLabel, tick } from './facts';
import { summary, thin } from './series';

const HIGH = 132;
const ROWS = 60;
/** Steps of an axis of bytes: people count them in powers of two. */
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);

function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
}

function Canvas({ series, from, to }: { series: Schemas['Series']; from: number; to: number }) {
  const box = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const style = getComputedStyle(element);
    const ink = style.getPropertyValue('--mantine-color-text').trim() || style.color;
    const quiet = style.getPropertyValue('--mantine-color-dimmed').trim() || style.color;
    const grid = style.getPropertyValue('--line').trim() || quiet;
    const font = `11px ${style.fontFamily}`;
    const axis = { stroke: quiet, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    const data: UPlot.AlignedData = [
      series.points.map(([at = 0]) => at),
      series.points.map(([, value]) => value ?? null),
    ];
    const plot = new UPlot(
      {
        width: element.clientWidth || 320,
        height: HIGH,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 } },
        scales: {
          x: { time: true, range: [from, to] },
          y: {
            range: (_, low, high) =>
              series.unit === 'percent' ? [0, Math.max(100, high)] : [Math.min(0, low), high > 0 ? high * 1.1 : 1],
          },
        },
        axes: [
          { ...axis, size: 26, space: 70, values: (_, at) => at.map(clock) },
          {
            ...axis, size: 72, space: 32, values: (_, at) => at.map((value) => tick(value, series.unit)),
            ...(series.unit === 'bytes' && { incrs: POWERS }), ...(series.unit === 'bool' && { splits: () => [0, 1] }),
          },
        ],
        series: [{}, { stroke: ink, width: 1.5, spanGaps: false, points: { show: series.points.length < 2 } }],
        hooks: {
          setCursor: [
            (made) => {
              const index = made.cursor.idx;
              const point = index === null || index === undefined ? undefined : series.points[index];
              element.title = point ? `${clock(point[0] ?? 0)}: ${amount(point[1] ?? 0, series.unit)}` : '';
            },
          ],
        },
      },
      data,
      element,
    );
    const watch = new ResizeObserver(() => {
      plot.setSize({ width: element.clientWidth || 320, height: HIGH });
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [series, from, to, scheme]);
  return <div ref={box} className="plot-canvas" aria-hidden />;
}

export function Plot({ series, from, to }: { series: Schemas['Series']; from: number; to: number }) {
  const about = summary(series.points);
  const name = factLabel(series.name);
  const say = (value: number | undefined) => (value === undefined ? '–' : amount(value, series.unit));
  return (
    <figure className="plot">
      <Group component="figcaption" justify="space-between" gap="sm" mb={4}>
        <Text size="sm" fw={600}>{name}</Text>
        <Text size="xs" c="dimmed">
          now {say(about?.last)}{about && about.least !== about.most && ` · ${say(about.least)} to ${say(about.most)}`}
        </Text>
      </Group>
      {about ? (
        <>
          <Canvas series={series} from={from} to={to} />
          <details>
            <summary>As a table</summary>
            <div className="plot-table" role="region" aria-label={`${name} as a table`} tabIndex={0}>
              <Table verticalSpacing={2} fz="sm">
                <Table.Thead>
                  <Table.Tr><Table.Th>Time</Table.Th><Table.Th ta="right">{name}</Table.Th></Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {thin(series.points, ROWS).toReversed().map(([at = 0, value = 0]) => (
                    <Table.Tr key={at}>
                      <Table.Td>{clock(at)}</Table.Td>
                      <Table.Td ta="right">{amount(value, series.unit)}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </div>
          </details>
        </>
      ) : (
        <Text size="sm" c="dimmed">No values in this time range.</Text>
      )}
    </figure>
  );
}
