import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** A day on which these tests do not run. */
const DAY = new Date(Date.now() + 3 * 86_400_000)
const DAY_NAME = DAY.toLocaleDateString('en', { weekday: 'short', timeZone: 'UTC' })
const dayAt = (time: string) => `${DAY.toISOString().slice(0, 10)}T${time}:00Z`

const ROUTES = `
# the token is s3cret
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } } # public
routes:
  - { name: night, match: { hours: "${DAY_NAME} 00:00-06:00 UTC" }, skill: echo }
  - { name: rest, match: { gateway: shop }, skill: echo }
`

describe('trivium routes and config', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const explain = async (draft: unknown) => {
    site.write('message.json', typeof draft === 'string' ? draft : JSON.stringify(draft))
    return site.run(['route', 'explain', 'message.json', '--all'])
  }

  test('explain accepts a message with only its gateway, and a time as text or number', async () => {
    assert.match((await explain({ gateway: 'shop', text: 'x' })).out, /^rest +answers/m)
    const night = await explain({ gateway: 'shop', receivedAt: dayAt('03:00') })
    assert.match(night.out, /^night +answers/m)
    assert.match(
      (await explain({ message: { gateway: 'shop', receivedAt: Date.parse(dayAt('09:00')) } })).out,
      /^rest +answers/m,
    )
  })

  test('explain names the invalid field of a message in a plain sentence', async () => {
    for (const [draft, error] of [
      [{ text: 'x' }, /the field gateway is missing; the smallest message is \{"gateway"/],
      [{ gateway: 'shp' }, /there is no gateway shp\. Did you mean shop\?/],
      [{ gateway: 'shop', text: 5 }, /message\.json: text: expected string/],
      [{ gateway: 'shop', receivedAt: 'monday' }, /receivedAt is a time such as 2026-/],
      ['{', /message\.json is not JSON/],
      ['[]', /expected a JSON object such as/],
    ] as const) {
      const { code, err } = await explain(draft)
      assert.match(err, error)
      assert.doesNotMatch(err, /✖|Invalid input/)
      assert.equal(code, 2)
    }
    assert.match((await site.run(['route', 'explain', 'nix'])).err, /There is no message and no file nix/)
  })

  test('config show leaves out comments, which may contain secrets', async () => {
    const { out } = await site.run(['config', 'show'])
    assert.doesNotMatch(out, /#|s3cret/)
    assert.match(out, /^gateways:\n {2}shop: .*\n/)
  })

  test('check warns about a missing folder of skills, and reports a link to a missing file', async () => {
    const other = openSite({ routes: `include: routes.d/*.yaml\nskills: { folders: [nope] }\n${ROUTES}` })
    const warned = await other.run(['route', 'check'])
    assert.equal(warned.code, 0)
    assert.match(warned.out, /warning: there is no folder .*nope/)
    assert.match(warned.out, /valid, with \d warnings?/)
    mkdirSync(join(other.dir, 'routes.d'))
    symlinkSync('gone.yaml', join(other.dir, 'routes.d', 'more.yaml'))
    const dead = await other.run(['route', 'check'])
    assert.match(dead.out, /routes\.d\/more\.yaml +this is a link to gone\.yaml, which does not exist/)
    assert.equal(dead.code, 2)
  })

  test('check loads skills and Bolt apps, and names those that are broken', async () => {
    const routes = `
gateways: { team: { transport: slack, mode: socket, bot-token: xoxb-1, app-token: xapp-1 } }
routes: [{ name: app, match: { gateway: team }, bolt: ./app.cjs }, { name: rest, skill: whole }]`
    const other = openSite({ routes })
    other.write('app.cjs', "const { App } = require('@slack/bolt')\nnew App({}).mesage('x', () => {})\n")
    other.write('skills/typo/index.ts', "export default { description: 'x', run: () => }\n")
    other.write('skills/words/SKILL.md', '---\ndescription: x\nallowed-tools: 5\n---\nHello.\n')
    const whole = "export default { description: 'x', run: () => 'fine' }\nsetInterval(() => {}, 1000)\n"
    other.write('skills/whole/index.ts', whole)
    const { code, out } = await other.run(['route', 'check'])
    assert.equal(code, 2)
    assert.match(out, /^skills\/typo\/index\.ts +the skill cannot be loaded: line 1: /m)
    assert.match(out, /^skills\/words\/SKILL\.md +the skill cannot be loaded: .*allowed-tools/m)
    assert.match(out, /the Bolt app .*app\.cjs cannot be loaded: .*mesage is not a function/)
    assert.doesNotMatch(out, /whole/)
    other.write('app.cjs', "const { App } = require('@slack/bolt')\nnew App({}).message('x', () => {})\n")
    other.write('skills/typo/index.ts', whole)
    other.write('skills/words/SKILL.md', '---\ndescription: x\n---\nHello.\n')
    const fixed = await other.run(['route', 'check'])
    assert.equal(fixed.code, 0, fixed.out)
    assert.match(fixed.out, /^routes\.yaml is valid\.\nThe Bolt app app\.cjs was loaded\.$/m)
  })

  test('check refuses an unknown argument of a shipped skill, and warns about one of another skill', async () => {
    const routes = `
schedules: [{ name: daily, every: 1d, skill: autoresponder, args: { hourss: 24/7 } }]
routes:
  - { name: own, match: { prefix: own }, skill: own, args: { txt: x } }
  - { name: open, match: { prefix: open }, skill: open, args: { anything: x } }
  - { name: rest, skill: autoresponder, args: { periode: 1d, hours: 24/7 } }`
    const other = openSite({ routes })
    const skill = (args: string) =>
      `import { defineSkill, z } from 'trivium'\nexport default defineSkill({ description: 'x', args: ${args}, run: () => 1 })\n`
    other.write('skills/own/index.ts', skill('z.object({ text: z.string().optional() })'))
    other.write('skills/open/index.ts', skill('z.looseObject({})'))
    const { code, out } = await other.run(['route', 'check'])
    assert.equal(code, 2, out)
    assert.match(out, /:2:\d+ +the skill has no argument "hourss"; did you mean "hours"\?/)
    assert.match(out, /:4:\d+ +warning: the skill has no argument "txt"; did you mean "text"\?/)
    assert.match(out, /:6:\d+ +the skill has no argument "periode"; did you mean "period"\?/)
    assert.doesNotMatch(out, /anything/)
  })

  test('check recognises a mistyped `not`', async () => {
    const other = openSite({ routes: 'routes: [{ name: a, match: { nott: { from: x } }, skill: echo }]' })
    assert.match(
      (await other.run(['route', 'check'])).out,
      /only `not` takes a mapping: did you mean "not"\?/,
    )
  })

  test('status finds a daemon after `data-dir` was changed in an included file', async () => {
    const other = openSite({ routes: `include: more.yaml\n${ROUTES}` })
    other.write('more.yaml', 'daemon: { data-dir: .trivium }\n')
    const daemon = await other.start()
    other.write('more.yaml', 'daemon: { data-dir: elsewhere }\n')
    const { code, out, err } = await other.run(['status'])
    assert.equal(code, 0, err)
    assert.match(out, /running since/)
    await daemon.end()
    await until(async () => (await other.run(['reload'])).code === 3, 'no daemon')
  })
})
