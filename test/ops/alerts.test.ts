import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { promtool } from '../../ops/system-packages.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

type Rule = { alert: string; expr: string; annotations: Record<string, string> }
type Samples = Map<string, number>

const RULES = 'ops/alerts.yaml'
const rules: Rule[] = parse(readFileSync(RULES, 'utf8')).groups[0].rules
const { panels, templating } = JSON.parse(readFileSync('ops/grafana.json', 'utf8'))
const METRIC = /\b(?:trivium|nodejs|process)_\w+/g

const ROUTES = `
gateways:
  hook: { transport: webhook, path: /hook, verify: { scheme: none } }
  signed: { transport: webhook, path: /signed, verify: { scheme: github, secret: right } }
routes:
  - { name: slow, match: { text: slow }, skill: slow }
  - { name: fail, match: { text: fail }, skill: fail, retry: { attempts: 2, delay: 10ms } }
  - { name: rest, skill: echo }
`
const SKILLS = {
  slow: `export default { description: 'waits', run: ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', no)) }`,
  fail: `export default { description: 'fails', run() { throw new Error('no') } }`,
}

/** The samples on a page of `/metrics`, with the labels that a scrape adds. */
function samplesOf(page: string): Samples {
  const lines = page.split('\n').filter((line) => /^(trivium_|up )/.test(line))
  return new Map(
    lines.map((line) => {
      const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      return [
        `${name}{${[labels, 'instance="here",job="trivium"'].filter(Boolean).join(',')}}`,
        Number(value),
      ]
    }),
  )
}

/** Series that grow while a state lasts. */
const GROWING = /^trivium_(\w+_(total|count|sum|bucket)|group_lag|dead_letters)\{/
const AGE = /^trivium_oldest_\w+_seconds\{/

/**
 * An hour of a series for promtool, a value per minute: five minutes as before, and then the state,
 * which lasts.
 */
function hourOf(series: string, before: Samples, state: Samples): string {
  const [from, to] = [before.get(series), state.get(series) ?? Number.NaN]
  const step = GROWING.test(series) ? Math.max(0, to - (from ?? 0)) : AGE.test(series) && to > 0 ? 60 : 0
  return `${from === undefined ? '_x6' : `${from}+0x5`} ${to}+${step}x55`
}

describe('the alerts and the dashboard', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({
    ownProcess: true,
    routes: ROUTES,
    skills: SKILLS,
    store: 'redis',
    env: { TRIVIUM_GRACE: '0' },
  })
  const states: { name: string; alerts: string[]; before: Samples; state: Samples }[] = []
  let healthy: Samples
  let page = ''

  const scrape = async (): Promise<Samples> => {
    const response = await fetch(`${suite.daemon.control}/metrics`).catch(() => undefined)
    if (!response) return new Map([['up{instance="here",job="trivium"}', 0]])
    page = await response.text()
    return samplesOf(`${page}\nup 1`)
  }
  const sampleOf = async (start: string) =>
    [...(await scrape())].find(([series]) => series.startsWith(start))?.[1]
  /** Brings the daemon into a state, until `isReached`, in which these alerts are expected. */
  const drive = async (alerts: string[], act: () => Promise<unknown>, isReached: () => Promise<unknown>) => {
    const before = await scrape()
    await act()
    await until(isReached, alerts.join())
    states.push({ name: alerts.join(), alerts, before, state: await scrape() })
  }
  const promtoolOn = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(promtool(), args, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
  const say = (text: string, conversation = text) =>
    fetch(`${suite.daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${suite.daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'hook', text, conversation }),
    })

  before(async () => {
    healthy = await scrape()
    await say('hello')
    await drive(
      ['TriviumDispatchWaits', 'TriviumAttemptHangs'],
      async () => {
        await say('slow')
        await say('slow')
      },
      async () =>
        Number(await sampleOf('trivium_oldest_waiting_seconds{road="dispatch",gateway="hook"')) > 0.1,
    )
    await drive(
      ['TriviumDeadLetters', 'TriviumAttemptsFail'],
      () => say('fail'),
      async () => (await sampleOf('trivium_dead_letters{queue="dispatch"')) === 1,
    )
    await drive(
      ['TriviumRefuses', 'TriviumTrouble'],
      async () => {
        for (let n = 0; n < 20; n++) await suite.daemon.post('/signed', '{}')
      },
      async () => (await sampleOf('trivium_refused_total{')) === 20,
    )
    await drive(
      ['TriviumGroupLag'],
      async () => {
        await suite.daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'nobody' })
        await say('hello')
      },
      async () => (await sampleOf('trivium_group_lag{topic="gateway-message",group="nobody"')) === 1,
    )
    const away = (port: number) => `{ host: 127.0.0.1, port: ${port}, tls: none, user: a, pass: b }`
    const more = `
daemon: { retention: { max-count: 3 } }
subscriptions:
  - { name: crm, topic: gateway-message, url: 'http://127.0.0.1:1/', allow-private: true, secret: whsec_${'A'.repeat(32)} }
`
    await drive(
      ['TriviumGatewayDown'],
      async () => {
        const gateway = `gateways:\n  away: { transport: email, open: true, address: a@example.com, imap: ${away(1)}, smtp: ${away(1)} }`
        suite.site.write('routes.yaml', ROUTES.replace('gateways:', gateway) + more)
      },
      async () => (await sampleOf('trivium_gateway_up{gateway="away"')) === 0,
    )
    await drive(
      ['TriviumRepliesWait', 'TriviumSendsFail'],
      () =>
        suite.daemon.invoke('gateway-send', { gateway: 'away', to: 'b@example.com', text: 'hello', wait: 0 }),
      async () => Number(await sampleOf('trivium_sent_total{gateway="away",outcome="retry"')) > 0,
    )
    await drive(
      ['TriviumSubscriptionDown'],
      async () => {
        for (let n = 0; n < 8; n++) await say('hello', `c${n}`)
      },
      async () => (await sampleOf('trivium_subscription_up{subscription="crm"')) === 0,
    )
    await suite.daemon.invoke('gateway-receive', { gateway: 'hook', timeout: 0 })
    await drive(
      ['TriviumMessagesLost'],
      () => suite.restart(),
      async () => Number(await sampleOf('trivium_receive_lost_total{gateway="hook"')) > 0,
    )
    await drive(
      ['TriviumReloadFailed'],
      async () => suite.site.write('routes.yaml', 'routes: ['),
      async () => (await sampleOf('trivium_config_last_reload_successful')) === 0,
    )
    await drive(
      ['TriviumStoreAway'],
      suite.redis.kill,
      async () => (await sampleOf('trivium_store_up')) === 0,
    )
    await drive(
      ['TriviumDown'],
      () => suite.daemon.end('SIGKILL'),
      async () => (await sampleOf('up{')) === 0,
    )
    /**
     * The daemon as healthy, in a cluster with a CronJob that was created and last worked so many
     * hours ago.
     */
    const inCluster = (created: number, worked?: number) => {
      const labels = '{namespace="default",cronjob="trivium-backup"}'
      const state = new Map(healthy).set(`kube_cronjob_created${labels}`, -created * 3600)
      // promtool evaluates at 1970-01-01T01:00.
      return worked === undefined
        ? state
        : state.set(`kube_cronjob_status_last_successful_time${labels}`, -worked * 3600)
    }
    for (const [name, alerts, state] of [
      ['a backup of last night', [], inCluster(900, 9)],
      ['the first night has not come', [], inCluster(9)],
      ['no backup last night', ['TriviumBackupMissing'], inCluster(900, 27)],
      ['a backup that never worked', ['TriviumBackupMissing'], inCluster(27)],
    ] as const)
      states.push({ name, alerts: [...alerts], before: state, state })
    states.push({ name: 'no daemon', alerts: ['TriviumDown'], before: new Map(), state: new Map() })
  })

  test('each alert fires in its state, and none in a healthy daemon', (t) => {
    promtoolOn('check', 'rules', RULES)
    const firing = (alerts: string[]) =>
      `count by (alertname) (ALERTS{alertname=~"${alerts.join('|')}", alertstate="firing"}) > bool 0`
    const all = rules.map(({ alert }) => alert)
    assert.deepEqual(new Set(states.flatMap(({ alerts }) => alerts)), new Set(all))
    const noTrouble = { name: 'healthy', alerts: [], before: healthy, state: healthy }
    const tests = [noTrouble, ...states].map(({ name, alerts, before, state }) => ({
      name,
      interval: '1m',
      input_series: [...state.keys()].map((series) => ({ series, values: hourOf(series, before, state) })),
      promql_expr_test: [
        {
          expr: firing(alerts.length > 0 ? alerts : all),
          eval_time: '60m',
          exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
        },
      ],
    }))
    const file = join(temporaryDir(t), 'tests.yaml')
    writeFileSync(file, stringify({ rule_files: [resolve(RULES)], evaluation_interval: '1m', tests }))
    promtoolOn('test', 'rules', file)
  })

  test('alerts and panels use metrics of the daemon, whose page promtool accepts', (t) => {
    const { status, stdout, stderr } = spawnSync(promtool(), ['check', 'metrics'], {
      input: page,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stdout + stderr], [0, ''])
    const types = new Map(
      [...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
    )
    const expressions: string[] = panels.flatMap(({ targets = [] }) =>
      targets.map(({ expr }: { expr: string }) => expr),
    )
    assert.ok(expressions.length > 20)
    const named = [...expressions, ...rules.map(({ expr }) => expr)].flatMap(
      (expr) => expr.match(METRIC) ?? [],
    )
    for (const name of named) {
      const whole = name.replace(/_(bucket|sum|count)$/, '')
      assert.ok(types.has(name) || types.get(whole) === 'histogram', name)
    }
    const own = [...types.keys()].filter((name) => name.startsWith('trivium_'))
    const shown = named.map((name) => name.replace(/_bucket$/, ''))
    assert.deepEqual(
      own.filter((name) => !shown.includes(name)),
      [],
    )

    const file = join(temporaryDir(t), 'panels.yaml')
    const plain = (expr: string) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*')
    const asRules = expressions.map((expr, n) => ({ record: `panel:${n}`, expr: plain(expr) }))
    writeFileSync(file, stringify({ groups: [{ name: 'panels', rules: asRules }] }))
    promtoolOn('check', 'rules', file)
  })

  test('each panel has its source from the variable, and each alert a section in docs/monitoring.md', () => {
    assert.partialDeepStrictEqual(templating.list[0], { name: 'datasource', type: 'datasource' })
    for (const { title, type, datasource, targets } of panels) {
      const sources = [
        datasource,
        ...(targets ?? []).map((target: { datasource: object }) => target.datasource),
      ]
      if (type !== 'row') for (const { uid } of sources) assert.equal(uid, `\${datasource}`, title)
    }
    const docs = readFileSync('docs/monitoring.md', 'utf8')
    const anchors = [...docs.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    )
    for (const { alert, annotations } of rules) {
      const [, anchor = ''] = /^docs\/monitoring\.md#([\w-]+): ./.exec(annotations.runbook ?? '') ?? []
      assert.ok(anchors.includes(anchor), `${alert}: ${annotations.runbook}`)
      assert.ok(docs.includes(`| \`${alert}\` |`), `a line on ${alert} in docs/monitoring.md`)
    }
  })
})
