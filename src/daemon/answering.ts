import { basename } from 'node:path'
import type { Caller, InvokeOptions, ModelStep } from '../core/call.ts'
import { isJsonObject, type Json } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { ReplyPlace, Transport } from '../core/transport.ts'
import type { Dispatch, Target } from '../engine/dispatch-options.ts'
import type { Gateways } from '../engine/gateways.ts'
import { noGateway } from '../engine/receive.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import { defined } from '../lib/defined.ts'
import type { Access } from '../runtime/access.ts'
import type { SkillManager } from '../runtime/manager.ts'

/** Runs the target of a message's route: a skill, a BullMQ queue or a Bolt app. */
export function createAnswering(parts: {
  gateways: Pick<Gateways, 'get' | 'names'>
  access: Pick<Access, 'callerOf'>
  manager: Pick<SkillManager, 'invoke'>
  queues: Pick<Queues, 'run'>
  /** Handles a message that is an approval decision, and returns the answer; undefined for other messages. */
  decide(message: Message, caller: Caller): Promise<string | undefined> | undefined
}): Target {
  const { gateways, access, manager, queues, decide } = parts
  const listen: Target = ({ message, route: { bolt = '', name, timeout }, signal }) => {
    // The gateway may be off briefly during a reload.
    const listener = gateways.get(message.gateway)
    if (!listener?.listen) throw noGateway(message.gateway, gateways.names())
    return listener.listen(bolt, { message, route: name, signal, timeout })
  }
  const answer = (dispatched: Dispatch, caller: Caller): Promise<unknown> => {
    const { message, route } = dispatched
    const transport = route.reply === 'none' ? undefined : gateways.get(message.gateway)
    if (route.queue !== undefined) {
      const progress = (progress: Json) => transport?.progress?.({ ...placeOf(message), progress })
      return queues.run(route.queue, { ...dispatched, progress })
    }
    if (route.bolt !== undefined) return listen(dispatched)
    const invoke = (shown: Partial<InvokeOptions>) =>
      manager.invoke(targetOf(route), skillArgs(dispatched), {
        ...invokeOptions(dispatched),
        ...shown,
        caller,
      })
    const canShow = transport?.working || transport?.stream
    return canShow ? showWork(transport, dispatched, invoke) : invoke({})
  }
  // Not async: that would add three promises to each message.
  return (dispatched) => {
    const { message } = dispatched
    if (dispatched.isAside) return listen(dispatched)
    const caller = access.callerOf(message)
    const decision = decide(message, caller)
    return decision
      ? decision.then((decided) => decided ?? answer(dispatched, caller))
      : answer(dispatched, caller)
  }
}

/** The target of a route, for logs. */
export function targetOf({ skill, queue, bolt }: Route): string {
  return skill ?? (bolt === undefined ? `queue:${queue}` : `bolt:${basename(bolt)}`)
}

/** The place of a reply in progress. */
function placeOf({ id: inReplyTo, conversation, data }: Message): ReplyPlace {
  const target = isJsonObject(data.replyTarget) ? data.replyTarget : undefined
  return { inReplyTo, conversation, ...defined({ target }) }
}

/** Shows working skills and growing model answers in the conversation, with a way to cancel, if the transport supports it. */
async function showWork(
  transport: Pick<Transport, 'working' | 'stream'>,
  { message, signal }: Dispatch,
  invoke: (shown: Pick<InvokeOptions, 'signal' | 'onModel'>) => Promise<unknown>,
): Promise<unknown> {
  const place = placeOf(message)
  const stopped = new AbortController()
  const shown = transport.working?.(message, () => stopped.abort())
  let text = ''
  const onModel = ({ text: delta, tool, known }: ModelStep) => {
    if (delta === undefined) return shown?.tool(tool)
    text += delta
    if (!known) transport.stream?.({ ...place, delta, text })
  }
  try {
    return await invoke({
      ...(shown && { signal: AbortSignal.any([signal, stopped.signal]) }),
      ...(transport.stream && { onModel }),
    })
  } catch (error) {
    if (signal.aborted || !stopped.signal.aborted) throw error
    return `${text}\n\n_Stopped._`.trim()
  } finally {
    shown?.end()
  }
}

/** Arguments of dispatched skills. `sessionId` is the conversation. A merged call gets all texts, and `messages`. */
function skillArgs({ message, collected, route }: Dispatch): Record<string, unknown> {
  const { from, subject, conversation } = message
  const messages = route['while-busy'] === 'collect' ? [...collected, message] : [message]
  return {
    ...route.args,
    text: messages.map(({ text }) => text).join('\n\n'),
    ...(route['while-busy'] === 'collect' && { messages }),
    from: from.address ?? from.id,
    ...defined({ subject }),
    message,
    route: route.name,
    sessionId: conversation,
  }
}

function invokeOptions({ message, route, sends, steer, signal }: Dispatch): InvokeOptions {
  const { headers } = message.data
  return {
    message,
    route: route.name,
    signal,
    timeout: route.timeout,
    trace: message.trace,
    rootId: message.id,
    sends,
    ...(route.model !== undefined && { model: route.model }),
    ...(route.approval !== undefined && { approval: route.approval }),
    ...(steer && { steer }),
    ...(isJsonObject(headers) && { nonlocals: { request: { headers } } }),
  }
}
