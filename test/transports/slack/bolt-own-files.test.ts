// Bolt apps that expect another working folder or version of Bolt: they run, with a warning.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type AppThread, startAppThread } from '../../../transports/slack/bolt/app-thread.ts'
import { tryApp } from '../../../transports/slack/bolt/try-app.ts'
import { temporaryDir } from '../../fixtures/folder.ts'
import { until } from '../../fixtures/until.ts'
import { createMemoryLog } from '../../runtime/support/log.ts'

const MANIFEST = JSON.stringify({ name: 'orders', dependencies: { '@slack/bolt': '*' } })
const APP = `const { App } = require('@slack/bolt')
const app = new App({ token: 'xoxb-own', signingSecret: 's' })
app.message('go', ({ say }) => say('heard'))
`
const API = 'http://127.0.0.1:1/api/'

function writeFiles(dir: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), content)
  }
}

async function start(
  t: TestContext,
  files: Record<string, string>,
): Promise<{ app: AppThread; dir: string }> {
  const dir = temporaryDir(t)
  writeFiles(dir, { 'package.json': MANIFEST, ...files })
  const identity = { token: 'xoxb-test', botId: 'B0BOT', botUserId: 'U0BOT' }
  const app = await startAppThread({
    data: { file: join(dir, 'app.js'), apiUrl: API, identity },
    log: createMemoryLog(),
    authorize: () => Promise.reject(new Error('there is one workspace')),
    exited() {},
  })
  t.after(() => app.terminate())
  return { app, dir }
}

/** A file in the working folder of the tests, with a unique name. */
const FILE = `./own-files-${process.pid}.jsonl`

describe('a Bolt app outside the folder of the daemon', { timeout: 300_000 }, () => {
  for (const [api, code] of [
    ['fs of CommonJS', `require('fs').appendFileSync('${FILE}', 'x')`],
    ['node:fs/promises', `require('node:fs/promises').appendFile('${FILE}', 'x')`],
    ['a write stream', `require('node:fs').createWriteStream('${FILE}').end('x')`],
    ['fs of an ES module', `import('./writes.mjs')`],
  ]) {
    test(`that uses a relative path gets a warning with the path and the actual file: ${api}`, async (t) => {
      t.after(() => rmSync(FILE, { force: true }))
      const module = `import { appendFileSync } from 'node:fs'\nappendFileSync('${FILE}', 'x')`
      const { app, dir } = await start(t, { 'app.js': `${APP}${code}`, 'writes.mjs': module })
      const [warning = ''] = await until(
        () => (app.warnings.length > 0 ? app.warnings : undefined),
        'a warning',
      )
      assert.ok(warning.includes(`"${FILE}"`) && warning.includes(resolve(FILE)), warning)
      assert.ok(warning.includes(dir), warning)
    })
  }

  test('that uses absolute paths and relative imports gets no warning', async (t) => {
    const code = `${APP}require('node:fs').appendFileSync(require('node:path').join(__dirname, 'x'), 'x')\nrequire('./more')`
    const { app } = await start(t, { 'app.js': code, 'more.js': 'module.exports = 1' })
    assert.deepEqual(app.warnings, [])
  })

  test('that cannot be loaded because a file is missing gets the reason, with the start of relative paths', async (t) => {
    const dir = temporaryDir(t)
    const code = `${APP}require('node:fs').readFileSync('./views/modal.json')`
    writeFiles(dir, { 'package.json': MANIFEST, 'app.js': code })
    const { fault = '' } = await tryApp(join(dir, 'app.js'), API)
    assert.match(fault, /ENOENT.*views\/modal\.json.*relative paths begin in the folder of the daemon/s)
  })
})

test('a Bolt app that installs another major version of Bolt gets a warning', {
  timeout: 300_000,
}, async (t) => {
  const bolt = (version: string) => ({
    'app.js': APP,
    'node_modules/@slack/bolt/package.json': JSON.stringify({
      name: '@slack/bolt',
      version,
      main: 'index.js',
    }),
    'node_modules/@slack/bolt/index.js': 'throw new Error("not this one")',
  })
  const older = await start(t, bolt('4.7.3'))
  assert.match(older.app.warnings.join(), /^it brings @slack\/bolt 4\.7\.3, but runs on 5\./)
  const same = await start(t, bolt('5.0.0'))
  assert.deepEqual(same.app.warnings, [])
})
