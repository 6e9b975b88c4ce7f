import assert from 'node:assert/strict'
import { test } from 'node:test'
import express, { type ErrorRequestHandler } from 'express'
import { type Bearer, OPERATOR, requireOperator } from '../../src/api/bearer.ts'
import { VIEWER, VIEWER_SKILLS } from '../../src/core/viewer-role.ts'
import { serveHttp } from '../fixtures/http-server.ts'

const viewer: Bearer = { id: 'oidc:ada@example.com', roles: [VIEWER], skills: VIEWER_SKILLS }
const program: Bearer = { id: 'token:ci', skills: ['*'] }

test('a call for operators is refused with the reason that applies to the caller', async (t) => {
  const app = express()
  let bearer = OPERATOR
  app.use((_request, response, next) => {
    response.locals.bearer = bearer
    next()
  })
  const refused: string[] = []
  app.use(requireOperator(async (_request, { id = '' }, { code }) => void refused.push(`${code} ${id}`)))
  app.use((_request, response) => response.send('served'))
  const answerError: ErrorRequestHandler = ({ message }, _request, response, _next) => response.send(message)
  app.use(answerError)
  const { url, close } = await serveHttp(app)
  t.after(close)

  const answerFor = async (caller: Bearer, method: string) => {
    bearer = caller
    return (await fetch(`${url}/v1/reload`, { method })).text()
  }
  assert.equal(await answerFor(OPERATOR, 'POST'), 'served')
  assert.equal(await answerFor(viewer, 'GET'), 'served')
  assert.match(
    await answerFor(viewer, 'POST'),
    /POST \/v1\/reload for oidc:ada.*viewers cannot change anything/,
  )
  assert.match(await answerFor(program, 'GET'), /GET \/v1\/reload for token:ci.*needs the control token/)
  assert.deepEqual(refused, ['forbidden oidc:ada@example.com', 'forbidden token:ci'])
})
