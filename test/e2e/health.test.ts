import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const HOOKS = Array.from(
  { length: 9 },
  (_, n) => `  h${n}: { transport: webhook, path: /h${n}, verify: { scheme: none } }`,
)
const ROUTES = `
gateways:
${HOOKS.join('\n')}
  away: { transport: email, address: a@example.com, imap: &away { host: 127.0.0.1, port: 1, tls: none, user: a, pass: b }, smtp: *away }
routes:
  - { name: slow, match: { text: slow }, skill: slow }
  - { name: rest, skill: echo }
`
const SKILLS = {
  slow: `export default { description: 'waits', run: ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', no)) }`,
}

describe('what a daemon tells about itself', { timeout: 120_000 }, () => {
  let site: Site
  let daemon: DaemonProcess
  before(async () => {
    site = createSite({ routes: ROUTES, skills: SKILLS, env: { TRIVIUM_GRACE: '0' } })
    daemon = await site.start()
  })
  after(async () => {
    await daemon.end()
    site.remove()
  })
  const page = async () => (await fetch(`${daemon.control}/metrics`)).text()
  const metric = async (name: string) =>
    Number(
      (await page())
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1),
    )
  const ready = async () => {
    const response = await fetch(`${daemon.control}/readyz`)
    return { status: response.status, detail: Object(await response.json()).detail }
  }

  test('a gateway that cannot reach its provider is red, and the daemon is ready all the same', async () => {
    const sick = await until(async () => {
      const answer = await ready()
      return answer.detail.gateways.length > 0 ? answer : undefined
    }, 'a gateway that is red')
    assert.deepEqual([sick.status, sick.detail.gateways[0].name], [200, 'away'])
    assert.equal(await metric('trivium_gateway_healthy{gateway="away"}'), 0)
  })

  test('says which version it is', async () => {
    assert.match(await page(), /trivium_build_info\{version="\d+\.\d+\.\d+",node="\d+\..*"\} 1/)
  })

  test('a message counts until its skill is done, and its age grows', async () => {
    await site.run(['message', 'cli', 'slow', '--wait', '0'])
    await until(async () => (await metric('trivium_oldest_age_seconds{road="dispatch"}')) > 0.01, 'an age')
    assert.equal(await metric('trivium_depth{road="dispatch"}'), 1)
  })

  test('status fits a screen of 24 lines, with what is wrong first', async () => {
    const { out } = await site.run(['status'])
    assert.ok(out.split('\n').length <= 24, out)
    assert.match(out, /Gateways.*\n *away +email +FAILING.*\n[\s\S]*and 8 more[\s\S]*dispatch +1 +\d+ s/)
  })

  test('a file that is emptied, half saved or wrong keeps the last good one in force, and that is told', async () => {
    for (const content of [
      '',
      ROUTES.slice(0, ROUTES.indexOf('routes:')),
      'routes: [{ name: rest, skill: echo }]',
      'x: [',
    ]) {
      site.write('routes.yaml', content)
      await until(async () => (await metric('trivium_config_last_reload_successful')) === 0, content)
      const { status, detail } = await ready()
      assert.deepEqual([status, /last good/.test(detail.configuration)], [200, true])
      assert.match((await site.run(['status'])).out, /CONFIGURATION: .*routes\.yaml/)
      assert.equal((await daemon.post('/h1', '{}')).status, 202)
      site.write('routes.yaml', ROUTES)
      await until(
        async () => (await metric('trivium_config_last_reload_successful')) === 1,
        'the good file again',
      )
    }
  })
})
