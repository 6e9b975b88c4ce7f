import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  ErrorCode,
  isInitializeRequest,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js'
import { reasonOf } from '../core/errors.ts'
import { pathGet } from '../core/json.ts'

/** Where the daemon is now; asked again after it went away. Throws where none runs. */
export type FindDaemon = () => Promise<{ url: URL; token: string }>

type Http = StreamableHTTPClientTransport

/** Ids of the bridge's own requests, whose answers are not the client's. */
const OWN = 'trivium-bridge'

/**
 * Carries MCP messages between stdin and stdout and the daemon's `/mcp`, so that the skills run where the
 * roads are. Outlives a restart of the daemon: what was under way there is answered with an error, and the next message
 * opens a new session. Resolves when the client closes stdin. Problems go to stderr: stdout is the protocol's.
 */
export async function bridgeMcp(find: FindDaemon): Promise<void> {
  const stdio = new StdioServerTransport()
  const complain = (error: unknown) => process.stderr.write(`trivium mcp: ${reasonOf(error)}\n`)
  const toClient = (message: JSONRPCMessage) => void stdio.send(message).catch(complain)
  /** Requests without an answer, and the connection on which each was sent. */
  const waiting = new Map<RequestId, Http>()
  let hello: JSONRPCMessage | undefined
  let wasOpen = false
  let link: Promise<Http> | undefined

  const fail = (id: RequestId, error: unknown) => {
    waiting.delete(id)
    toClient({ jsonrpc: '2.0', id, error: { code: ErrorCode.InternalError, message: reasonOf(error) } })
  }

  const drop = (http: Http) => {
    link = undefined
    for (const [id, sentOn] of waiting) {
      if (sentOn === http) fail(id, 'the daemon went away; what was called may have run')
    }
    http.close().catch(complain)
  }

  /** A stream that broke says nothing about the daemon; a request does. */
  const check = async (http: Http) => {
    if (waiting.size === 0) return
    http.onerror = complain
    await http.send({ jsonrpc: '2.0', id: `${OWN}-ping`, method: 'ping' }).catch(() => drop(http))
    http.onerror = onErrorOf(http)
  }
  const onErrorOf = (http: Http) => (error: Error) => {
    complain(error)
    void check(http)
  }

  const open = async (): Promise<Http> => {
    const { url, token } = await find()
    const http = new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    })
    const greeted = Promise.withResolvers<void>()
    http.onerror = (error) => {
      complain(error)
      greeted.reject(error)
    }
    // Awaited only where a session is opened again.
    greeted.promise.catch(() => {})
    http.onmessage = (message) => {
      const id = pathGet(message, 'id')
      if (id === `${OWN}-hello`) return greeted.resolve()
      if (String(id).startsWith(OWN)) return
      if (!('method' in message)) waiting.delete(Object(message).id)
      toClient(message)
    }
    await http.start()
    if (hello && wasOpen) {
      await http.send({ ...hello, id: `${OWN}-hello` })
      await greeted.promise
      await http.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
      toClient({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    } else if (hello) {
      await http.send(hello)
    }
    wasOpen = true
    http.onerror = onErrorOf(http)
    return http
  }

  const connection = (): Promise<Http> => {
    const opening = link ?? open()
    link = opening
    opening.catch(() => {
      if (link === opening) link = undefined
    })
    return opening
  }

  const deliver = async (message: JSONRPCMessage) => {
    const http = await connection()
    if (message === hello) return
    const id = isJSONRPCRequest(message) ? message.id : undefined
    if (id !== undefined) waiting.set(id, http)
    try {
      await http.send(message)
    } catch (error) {
      // Answered already by who noticed first.
      if (id !== undefined && !waiting.delete(id)) return
      if ((await link?.catch(() => undefined)) === http && isLost(error)) drop(http)
      throw error
    }
  }

  stdio.onmessage = (message) => {
    if (isInitializeRequest(message)) hello ??= message
    deliver(message)
      .catch((error: unknown) => {
        // It did not get there, so it is safe to send it again, to where the daemon is now.
        if (neverArrived(error)) return deliver(message)
        throw error
      })
      .catch((error: unknown) => {
        complain(error)
        if (isJSONRPCRequest(message)) fail(message.id, error)
      })
  }
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve)
    stdio.onclose = resolve
  })
  await stdio.start()
  await ended
  const http = await link?.catch(() => undefined)
  await http?.terminateSession().catch(complain)
  await http?.close()
}

/** True where nobody is there, or somebody who does not know this session. */
function neverArrived(error: unknown): boolean {
  if (error instanceof StreamableHTTPError) return error.code === 404 || error.code === 401
  return pathGet(error, 'cause.code') === 'ECONNREFUSED'
}

function isLost(error: unknown): boolean {
  return !(error instanceof StreamableHTTPError) || neverArrived(error)
}
