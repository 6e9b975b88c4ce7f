import { createMetrics } from '../../src/api/metrics/metrics.ts'
import { code, page, table } from './markdown.ts'

const INTRODUCTION = `What \`GET /metrics\` of the control address answers in the Prometheus text format. The metrics of the Node
process (\`process_…\`, \`nodejs_…\`) are there too. \`ops/alerts.yaml\` holds alerts on these, \`ops/grafana.json\` a dashboard.`

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
  const { body } = await createMetrics({ version: 'docs' }).page(NOTHING, 0)
  const rows = [...body.matchAll(/^# HELP (trivium_\w+) (.+)\n# TYPE \1 (\w+)$/gm)]
  return page('Metrics', INTRODUCTION, [
    table(
      ['Metric', 'Type', 'Meaning'],
      rows.map(([, name = '', help = '', type = '']) => [code(name), type, help]),
    ),
  ])
}
