import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { SECRET } from './push-kit.ts'

/** A push. `n` is a field of the event's data. */
type Push = { headers: IncomingHttpHeaders; body: string; id: string; n: unknown }
const PATH = '/in?key=k'
/** Answers a push; `count` is the number of pushes so far. */
export type Respond = (response: ServerResponse, push: Push, count: number) => void

/**
 * A receiver that verifies the signatures of pushes and keeps them in `got`. With `verifies: false`
 * it only keeps them: a signature is invalid if the clock of its daemon is ahead.
 */
export async function startReceiver(
  t: TestContext,
  respond: Respond = (response) => response.end('thanks'),
  { verifies = true } = {},
) {
  const got: Push[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    const body = (await request.toArray()).join('')
    // From a push of another test to the port that it had before.
    if (request.url !== PATH) return void response.writeHead(404).end()
    const { headers } = request
    if (verifies) new Webhook(SECRET).verify(body, Object(headers))
    const event = JSON.parse(body)
    const push = { headers, body, id: String(headers['webhook-id']), n: event.data?.n ?? event.n }
    got.push(push)
    respond(response, push, got.length)
  })
  cleanup(t, close)
  return {
    got,
    /** The numbers of the pushes so far. */
    ns: () => got.map(({ n }) => n),
    url: `${url}${PATH}`,
    wait: (count: number) => until(() => (got.length >= count ? got : undefined), `${count} pushes`),
  }
}
