import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorText } from '../../src/cli/error-text.ts'
import { spokenName } from '../../src/cli/grammar.ts'
import { catalogue } from '../../src/core/errors.ts'
import { skillJsonSchema } from '../../src/core/skill.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: early, match: { text: early }, skill: mine }
  - { name: late, match: { text: "*" }, skill: mine }
schedules:
  - { name: nightly, cron: "0 3 * * *", skill: mine }
subscriptions:
  - { name: crm, url: "https://crm.example/hook", secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3 }
`
const SKILLS = { mine: `export default { description: 'does nothing', run() {} }` }
/** Codes of what no command lists. */
const NOT_LISTED = new Set([
  'not_found',
  'conversation_not_found',
  'event_not_found',
  'callback_not_found',
  'document_not_found',
  'artifact_not_found',
])

describe('a command without its argument', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  await site.start()
  const errorOf = async (command: string) => {
    const { code, err } = await site.run(command.split(' '))
    assert.equal(code, 2, `${command}: ${err}`)
    return err
  }

  test('names the argument and its form, for each built-in skill', async () => {
    for (const skill of builtInSkills) {
      const command = spokenName(skill.name)
      const { required = [] } = skillJsonSchema(skill)
      if ([required].flat().length === 0 || !command.includes(' ')) continue
      assert.match(
        await errorOf(command),
        new RegExp(`^trivium: The [^:]* (is|are) missing: \`trivium ${command} [A-Z-]`),
        command,
      )
    }
  })

  test('names what exists, and for resume what is paused', async () => {
    assert.match(await errorOf('route pause'), /There are: early, late\.$/m)
    assert.match(await errorOf('route resume'), /No route is paused\.$/m)
    await site.run(['route', 'pause', 'late'])
    assert.match(await errorOf('route resume'), /`trivium route resume ROUTE`\. Paused: late\.$/m)
    assert.match(await errorOf('gateway pause'), /There are: demo, cli\.$/m)
    assert.match(await errorOf('skill pause'), /There are: mine\.$/m)
    assert.match(await errorOf('schedule run'), /There are: nightly\.$/m)
    assert.match(await errorOf('subscription replay'), /There are: crm\.$/m)
    assert.match(await errorOf('run cancel'), /No message is running, retrying or waiting\.$/m)
    assert.match(await errorOf('approval decide'), /No approval is pending\.$/m)
    assert.match(await errorOf('conversation pause'), /`trivium conversation list` lists them\.$/m)
    await site.run(['route', 'resume', 'late'])
  })

  test('repeats the arguments that were given', async () => {
    const decide = await errorOf('approval decide 0c0702d99b97e4b7')
    assert.match(
      decide,
      /The decision .* is missing: `trivium approval decide 0c0702d99b97e4b7 --approve`\.$/m,
    )
    assert.match(await errorOf('event replay orders'), /: `trivium group replay GROUP orders`/)
  })

  test('of its own, names the list', async () => {
    assert.match(
      await errorOf('skill show'),
      /`trivium skill show NAME`\. `trivium skill list` lists them\.$/m,
    )
    assert.match(await errorOf('dead-letter show'), /`trivium dead-letter list` lists them\.$/m)
    assert.match(
      await errorOf('route show'),
      /`trivium route show ROUTE`\. `trivium route list` lists them\.$/m,
    )
  })

  test('and an unknown name gets a near one, or the list', async () => {
    const unknown = async (command: string) => (await site.run(command.split(' '))).err
    assert.match(await unknown('route pause lte'), /Did you mean late\?/)
    for (const command of ['route pause', 'skill pause', 'skill show', 'gateway show', 'schedule run'])
      assert.match(
        await unknown(`${command} xyzzy`),
        /There are: |`trivium [a-z]+ list` lists them\.$/m,
        command,
      )
    for (const noun of ['message', 'dead-letter', 'approval', 'job'])
      assert.match(await unknown(`${noun} show xyzzy`), new RegExp(`\`trivium ${noun} list\``))
    assert.equal((await site.run(['approval', 'show', 'xyzzy'])).code, 1)
    assert.doesNotMatch(await unknown('skill show nope'), /Did you mean/)
  })

  test('a value of a list is named by its flag alone', async () => {
    assert.match(await errorOf('message list --outcome foo'), /^trivium: --outcome: expected one of waiting/)
  })
})

test('each error about something unknown names the command that lists it', () => {
  const codes = Object.entries(catalogue).filter(
    ([code]) => code.endsWith('_not_found') && !NOT_LISTED.has(code),
  )
  assert.ok(codes.length > 7)
  for (const [code, { message }] of codes)
    assert.match(errorText({ code, message }), /`trivium [a-z-]+ list`/, code)
})

test('an error names skills as commands, and leaves paths and other words alone', () => {
  const textOf = (message: string) => errorText({ code: 'usage', message })
  assert.equal(textOf('Use dead-letter-retry.'), 'Use `trivium dead-letter retry`.')
  assert.equal(textOf('skills/job-list/index.ts is broken'), 'skills/job-list/index.ts is broken')
  assert.equal(textOf('There is no my-job-list.'), 'There is no my-job-list.')
  const line = 'routes.yaml:2:9  unknown key\n  2 |   - { skill: gateway-send, tries: 1 }'
  assert.equal(errorText({ code: 'config_invalid', message: line }), line)
})
