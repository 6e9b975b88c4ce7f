import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeHandler, toWebRequest } from '@modelcontextprotocol/node'
import { type AuthInfo, createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/call.ts'
import { reasonOf } from '../../core/errors.ts'
import { createCalls } from './calls.ts'
import { createSessions, refuse } from './http-sessions.ts'
import { createMcpServer, type McpOptions } from './server.ts'

export type McpHttp = ReturnType<typeof createMcpHttp>

/**
 * MCP over streamable HTTP. Clients with the current protocol have no sessions; older ones have.
 */
export function createMcpHttp(deps: Omit<McpOptions, 'caller' | 'calls'>) {
  const calls = createCalls()
  const options = { ...deps, calls }
  const sessions = createSessions(options)
  /** The caller of a request, by the AuthInfo that the library passes on. */
  const callers = new WeakMap<AuthInfo, Caller>()
  const stateless = createMcpHandler(
    ({ authInfo }) => {
      const caller = authInfo && callers.get(authInfo)
      if (!caller) throw new Error('the caller of the request is unknown')
      return createMcpServer({ ...options, caller })
    },
    { legacy: 'reject' },
  )
  const answer = toNodeHandler(stateless)
  const unsubscribe = deps.manager.onChange(() => stateless.notify.toolsChanged())

  return {
    /** Answers a request to `/mcp` whose `body` was already read. Never rejects. */
    async handle(request: IncomingMessage, response: ServerResponse, caller: Caller, body: unknown) {
      try {
        const auth: AuthInfo = { token: '', clientId: caller.id ?? '', scopes: [] }
        callers.set(auth, caller)
        const { method = 'GET', url = '/' } = request
        const authenticated = Object.assign(request, { method, url, auth })
        const content = method === 'POST' ? body : undefined
        const isLegacy =
          method !== 'POST' || (await isLegacyRequest(await toWebRequest(authenticated, content), content))
        if (isLegacy) await sessions.handle(request, response, caller, content)
        else await answer(authenticated, response, content)
      } catch (error) {
        if (response.headersSent) response.destroy()
        else refuse(response, 500, reasonOf(error))
      }
    },
    async close() {
      unsubscribe()
      calls.close()
      await Promise.all([stateless.close(), sessions.close()])
    },
  }
}
