import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'

test('a daemon that is stopped while it starts ends cleanly', { timeout: 300_000 }, async (t) => {
  // The start waits for this server, which never answers.
  const asked = Promise.withResolvers<void>()
  const silent = await serveHttp(() => asked.resolve())
  t.after(silent.close)
  const site = openSite({ routes: `mcp: { silent: { url: '${silent.url}', allow-private: true } }` })
  const child = spawn(process.execPath, [await bundledCommand(), 'start'], {
    cwd: site.dir,
    env: {
      PATH: process.env.PATH,
      TRIVIUM_LISTEN: '127.0.0.1:0',
      TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0',
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const closed = once(child, 'close')
  await Promise.race([asked.promise, closed.then(() => assert.fail(output))])
  child.kill('SIGTERM')
  const [code] = await closed
  assert.equal(code, 0, output)
  assert.match(output, /draining[\s\S]*drained/)
  assert.doesNotMatch(output, /is ready|rror/)
})
