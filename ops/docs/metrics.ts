import { createMetrics } from '../../src/api/metrics/metrics.ts'
import { code, page, table } from './markdown.ts'

const INTRODUCTION = `The response of \`GET /metrics\` on the control listener, in the Prometheus text format. The metrics of the Node
process (\`process_…\`, \`nodejs_…\`) are there too. \`ops/alerts.yaml\` has alerts on these, \`ops/grafana.json\` a dashboard.`

const NOTHING: Parameters<ReturnType<typeof createMetrics>['page']>[0] = {
  reload: { ok: true, at: 0, goodAt: 0 },
  gateways: [],
  running: [],
  takesWrites: true,
  troubles: [],
  stored: undefined,
}

/** docs/reference/metrics.md: the metrics of Trivium itself. */
export async function metricsPage(): Promise<string> {
  const metrics = createMetrics({ version: 'docs' })
  const { body } = await metrics.page(NOTHING, 0)
  const labelsOf = (name: string) => (metrics.labels.get(name) ?? []).map(code).join(', ') || '–'
  const rows = [...body.matchAll(/^# HELP (trivium_\w+) (.+)\n# TYPE \1 (\w+)$/gm)]
  return page('Metrics', INTRODUCTION, [
    table(
      ['Metric', 'Type', 'Labels', 'Meaning'],
      rows.map(([, name = '', help = '', type = '']) => [code(name), type, labelsOf(name), help]),
    ),
  ])
}
