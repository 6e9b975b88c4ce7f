import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logRequests } from '../../src/lib/http.ts'
import { serveHttp } from '../fixtures/http-server.ts'

test('a long path is logged without the segment that is cut, which may be half of a secret', async (t) => {
  const folders = `/${'x'.repeat(180)}/`
  const logged = Promise.withResolvers<object>()
  const log = { debug: (fields: object) => logged.resolve(fields) }
  const { url, close } = await serveHttp(logRequests(log, (_, response) => response.end()))
  t.after(close)
  await fetch(`${url}${folders}secret-of-more-than-twenty-characters`)
  assert.equal(Object(await logged.promise).path, `${folders}…`)
})
