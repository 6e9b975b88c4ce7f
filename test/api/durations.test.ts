import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { createDurations } from '../../src/api/metrics/durations.ts'

test('durations are a histogram with cumulative buckets per label, in text and as objects', async () => {
  const registry = new Registry()
  const durations = createDurations('run_seconds', 'Run time.', 'route', [0.1, 1], [registry])
  for (const seconds of [0.0625, 0.1, 0.5, 4]) durations.observe('a', seconds)
  durations.observe('b "c"', 1)
  const expected = `# HELP run_seconds Run time.
# TYPE run_seconds histogram
run_seconds_bucket{le="0.1",route="a"} 2
run_seconds_bucket{le="1",route="a"} 3
run_seconds_bucket{le="+Inf",route="a"} 4
run_seconds_sum{route="a"} 4.6625
run_seconds_count{route="a"} 4
run_seconds_bucket{le="0.1",route="b \\"c\\""} 0
run_seconds_bucket{le="1",route="b \\"c\\""} 1
run_seconds_bucket{le="+Inf",route="b \\"c\\""} 1
run_seconds_sum{route="b \\"c\\""} 1
run_seconds_count{route="b \\"c\\""} 1
`
  assert.equal(await registry.metrics(), expected)
  const [json] = await registry.getMetricsAsJSON()
  assert.equal(json?.values.length, 10)
  assert.deepEqual((await durations.histogram.get()).values, json?.values)
})
