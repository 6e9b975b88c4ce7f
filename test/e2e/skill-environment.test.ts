import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSite, type DaemonProcess } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { web: { transport: webhook, path: /in, verify: { scheme: none }, respond: result } }
routes: [{ name: show, skill: show }]
`
/** Answers with the variables at its load and at its run. */
const SHOW = `import { z } from 'zod'
const { AT_LOAD } = process.env
export default {
  description: 'Shows variables',
  args: z.object({}),
  run: () => [AT_LOAD, process.env.AT_RUN, process.env.BOTH].join(),
}`

describe('the environment of skills', { timeout: 300_000 }, () => {
  const site = createSite({
    routes: ROUTES,
    skills: { show: SHOW },
    env: { BOTH: 'of-the-process' },
    ownProcess: true,
  })
  let daemon: DaemonProcess
  before(async () => {
    site.write('.env', 'AT_LOAD=1\nAT_RUN=2\nBOTH=of-the-file\n')
    daemon = await site.start()
  })
  after(() => site.remove())
  const ask = async () => String(Object((await daemon.post('/in', '{}')).body).reply)

  test('has the variables of .env, and those of the process take precedence', async () => {
    assert.equal(await ask(), '1,2,of-the-process')
  })

  test('follows a saved change of .env', async () => {
    site.write('.env', 'AT_RUN=3\n')
    assert.equal((await site.run(['reload'])).code, 0)
    await until(async () => (await ask()).endsWith(',3,of-the-process'), 'the new value')
    site.write('.env', '')
    assert.equal((await site.run(['reload'])).code, 0)
    await until(async () => (await ask()).endsWith(',,of-the-process'), 'its removal')
  })
})
