import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { proofOf } from '../../src/api/token.ts'
import { connect } from '../../src/cli/connection.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'

const TOKEN = 'the-token'

test('a daemon that closes idle connections is found, and answers', async (t) => {
  const used = new Set<Socket>()
  const { url, close } = await serveHttp((request, response) => {
    // As if it had closed the connection while the next request was on its way.
    if (used.has(request.socket)) return void request.socket.destroy()
    used.add(request.socket)
    const nonce = request.url?.split('/v1/proof/')[1]
    response.end(JSON.stringify({ result: nonce ? proofOf(TOKEN, nonce) : { ok: true } }))
  })
  t.after(close)
  const site = openSite({ routes: 'routes: []\n' })
  writeFileSync(
    join(site.dir, 'daemon.json'),
    JSON.stringify({ pid: process.pid, control: new URL(url).host }),
  )
  const environs = {
    env: { TRIVIUM_DATA_DIR: site.dir, TRIVIUM_TOKEN: TOKEN, HOME: site.dir },
    cwd: site.dir,
    version: '0.0.0',
  }
  for (let round = 0; round < 3; round++) {
    await using connection = await connect(environs)
    assert.deepEqual(await connection.status(), { ok: true })
  }
})
