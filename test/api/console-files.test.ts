import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import express from 'express'
import { createConsoleFiles } from '../../src/api/console-files.ts'
import { serveHttp } from '../fixtures/http-server.ts'

/** A request by node:http, which does not decompress the answer or normalise the path. */
async function ask(url: string, path: string, headers: Record<string, string> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number
    headers: Record<string, unknown>
    body: Buffer
  }>()
  const { hostname, port } = new URL(url)
  const outgoing = request({ hostname, port, path, headers }, async (response) => {
    const body = Buffer.concat(await response.toArray())
    resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
  })
  outgoing.on('error', reject).end()
  return promise
}

describe('the files of the console', async () => {
  const { url, close } = await serveHttp(express().use(createConsoleFiles()))
  const page = String((await ask(url, '/')).body)
  const [, app = ''] = /<script type="module" src="([^"]+)"/.exec(page) ?? []

  after(close)

  test('have names with a hash, are compressed, and can be cached permanently', async () => {
    assert.match(app, /^\/console\/app-[\dA-Z]{8}\.js$/)
    const plain = await ask(url, app)
    assert.equal(plain.status, 200)
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(plain.headers.vary, 'accept-encoding')
    assert.match(String(plain.headers['content-type']), /^text\/javascript/)
    const brotli = await ask(url, app, { 'accept-encoding': 'gzip, deflate, br' })
    assert.equal(brotli.headers['content-encoding'], 'br')
    assert.ok(brotliDecompressSync(brotli.body).equals(plain.body))
    const gzip = await ask(url, app, { 'accept-encoding': 'gzip' })
    assert.equal(gzip.headers['content-encoding'], 'gzip')
    assert.ok(gunzipSync(gzip.body).equals(plain.body))
    assert.equal(
      (await ask(url, app, { 'accept-encoding': 'identity' })).headers['content-encoding'],
      undefined,
    )
  })

  test('of the first view are four: icon, styles, and two scripts', async () => {
    const paths = [...page.matchAll(/\s(?:href|src)="([^"]+)"/g)].map(([, path = '']) => path)
    assert.equal(paths.length, 4)
    for (const path of paths) assert.equal((await ask(url, path)).status, 200, path)
  })

  test('are the only files that are served', async () => {
    const folder = '/console/'
    for (const path of [
      '/app.js',
      '/console/app.js',
      '/console/app-00000000.js',
      `${folder}index.html`,
      `${folder}../../package.json`,
      `${folder}..%2f..%2fapi%2ftoken.ts`,
      `${folder}%2e%2e/%2e%2e/api/token.ts`,
      `${folder}lib/../../api/token.ts`,
      `${folder}..\\..\\api\\token.ts`,
      `${folder}//etc/passwd`,
      `${folder}constructor`,
      `${app}%00.css`,
      folder,
    ])
      assert.notEqual((await ask(url, path)).status, 200, path)
  })
})
