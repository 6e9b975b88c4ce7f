import { BUCKETS } from '../../src/api/metrics/makers.ts'
import { createMetrics } from '../../src/api/metrics/metrics.ts'
import { LABEL_VALUES, REFUSAL_REASONS } from './label-values.ts'
import { code, page, table } from './markdown.ts'

const INTRODUCTION = `The response of \`GET /metrics\` on the control listener, in the Prometheus text format. The metrics of the Node
process (\`process_…\`, \`nodejs_…\`) are there too. \`nodejs_eventloop_lag_…\` includes the 0.05 s between its
measurements. \`ops/alerts.yaml\` has [alerts](../monitoring.md#alerts) on these, \`ops/grafana.json\` a dashboard.

**Several daemons on one store:** metrics of a *daemon* differ: add them with \`sum\`. Metrics of the *store* are the same on
all of them: take one with \`max\`. Counters begin at 0 when a daemon starts.`

/** The state of a daemon that has no gateways and has done nothing. */
const IDLE_STATE: Parameters<ReturnType<typeof createMetrics>['page']>[0] = {
  reload: { ok: true, at: 0, goodAt: 0 },
  gateways: [],
  running: [],
  takesWrites: true,
  troubles: [],
  stored: undefined,
}

/** docs/reference/metrics.md: the metrics of Trivium, without those of the Node process. */
export async function metricsPage(): Promise<string> {
  const metrics = createMetrics({ version: 'docs' })
  const { body } = await metrics.page(IDLE_STATE, 0)
  const labelsOf = (name: string) => (metrics.labels.get(name) ?? []).map(code).join(', ') || '–'
  const rows = [...body.matchAll(/^# HELP (trivium_\w+) (.+)\n# TYPE \1 (\w+)$/gm)]
  return page('Metrics', INTRODUCTION, [
    table(
      ['Metric', 'Type', 'Of', 'Labels', 'Meaning'],
      rows.map(([, name = '', help = '', type = '']) => {
        return [code(name), type, metrics.isOfDaemon(name) ? 'daemon' : 'store', labelsOf(name), help]
      }),
    ),
    `Histograms have buckets up to ${BUCKETS.join(', ')} seconds.`,
    '## Labels',
    '`gateway`, `route`, `subscription`, `topic`, `group` and `model` have your names. The others:',
    table(
      ['Metric and label', 'Value', 'Meaning'],
      LABEL_VALUES.flatMap(({ label, values }) =>
        values.map(([value, meaning]) => [label, code(value), meaning]),
      ),
    ),
    '## Reasons of refusals',
    `The \`reason\` of \`trivium_refused_total\` and in \`trivium refusal list\` is the [code](../errors.md) of the error that the
sender got, or one of these. Not each is an error: a newsletter that gets no reply counts too. The alert
\`TriviumRefuses\` leaves out those marked with *.`,
    table(
      ['Reason', 'Transport', 'Meaning'],
      REFUSAL_REASONS.map(({ reason, transport, meaning, isIntended }) => {
        return [`${code(reason)}${isIntended ? ' *' : ''}`, transport, meaning]
      }),
    ),
  ])
}
