import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logRequests } from '../../src/lib/http.ts'
import { withoutSecrets } from '../../src/lib/secrets.ts'
import { serveHttp } from '../fixtures/http-server.ts'

for (const secret of ['secret-of-more-than-twenty-characters', 'a/secret+with=slashes/in-it']) {
  const written = secret.replace('+', '%2b').replace('=', '%3D')
  test(`a long path is logged without a part of the secret ${secret}`, async (t) => {
    const folders = `/${'x'.repeat(180)}/`
    const logged = Promise.withResolvers<object>()
    const log = { debug: (fields: object) => logged.resolve(fields) }
    const clean = (text: string) => withoutSecrets(text, [secret])
    const { url, close } = await serveHttp(logRequests(log, (_, response) => response.end(), clean))
    t.after(close)
    await fetch(`${url}${folders}${written}/${'y'.repeat(50)}`)
    assert.equal(Object(await logged.promise).path, `${folders}[secret]/${'y'.repeat(9)}…`)
  })
}
