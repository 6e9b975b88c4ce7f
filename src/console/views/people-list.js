import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useArrivals } from '../lib/arrivals.js'
import { html } from '../lib/html.js'
import { Jobs } from '../lib/jobs.js'
import { isNarrow } from '../lib/live.js'
import { useOpenByPerson } from '../lib/open-by-person.js'
import { StoreAway } from '../lib/parts.js'
import { ANY } from '../lib/person-identity.js'
import { remembered } from '../lib/places.js'
import { go, markDirect, replace, route } from '../lib/router.js'
import { OpenTabs, PeopleFilter } from './people-filter.js'
import { IdentityForm } from './person-form.js'
import { SenderList, useSenders } from './senders.js'

const isErasing = ({ kind }) => kind === 'person-erase'

/** Ms after the last key until senders are searched. */
const SETTLE = 250

/** Any message may change who is open, and the counts. */
const ALL = {}

const NOT_CHOOSING = { of: undefined, turn: 0 }

/**
 * The last senders. Their filter and order are in the address: `search`, `gateway`, `open`, `since`,
 * `until` and `sort`.
 */
export function PeopleList({ query: { focus, search = '', ...filter } }) {
  const { gateway = ANY, sort } = filter
  const [name, setName] = useState(search)
  const isNew = useMemo(() => isUnvisited(search), [])
  // The search whose first person is to get the focus, and how often.
  const [choosing, setChoosing] = useState(NOT_CHOOSING)
  // The text that was last put into the address. When it comes back, more may have been typed.
  const settled = useRef(search)
  const timer = useRef()
  const settle = (text, change) => {
    clearTimeout(timer.current)
    settled.current = text
    replace('people', { search: text, ...filter, ...change })
  }
  const change = (next) => settle(name.trim(), next)
  // Before the next key, whose text would be lost.
  useLayoutEffect(() => {
    if (search !== settled.current) setName(search)
    settled.current = search
  }, [search])
  useLayoutEffect(() => {
    if (name.trim() === settled.current) return undefined
    const { entry } = route.peek()
    // Do not write to the address of a page that was opened meanwhile.
    timer.current = setTimeout(() => route.peek().entry === entry && settle(name.trim()), SETTLE)
    return () => clearTimeout(timer.current)
  }, [name])
  const set = (next) => {
    setName(next.name)
    setChoosing(NOT_CHOOSING)
    if (next.gateway !== gateway)
      settle(next.name.trim(), { gateway: next.gateway === ANY ? undefined : next.gateway })
  }
  const add = (identity, typed) => {
    settle(typed.trim())
    go('people', { who: identity })
    markDirect()
  }
  const choose = (typed) => {
    settle(typed.trim())
    setChoosing(({ turn }) => ({ of: typed.trim(), turn: turn + 1 }))
  }
  const arrivals = useArrivals(ALL)
  const senders = useSenders({ search, filter, open: useOpenByPerson(arrivals), arrivals })
  return html`<header class="bar"><h1 id="title">People</h1></header>
    <${StoreAway} />
    <${IdentityForm} value=${{ name, gateway }} set=${set} add=${add} choose=${choose} action="Show what is kept" focus=${isNew || focus === 'search'}>
      <${PeopleFilter} filter=${filter} set=${change} countOf=${senders.countOf} /><//>
    ${!isNarrow.value && html`<${OpenTabs} filter=${filter} set=${change} countOf=${senders.countOf} />`}
    <${SenderList} of=${senders} set=${change} choosing=${choosing.of === search ? choosing.turn : 0} />
    ${search === '' && sort === undefined && !filter.open && html`<${Jobs} isSelected=${isErasing} />`}`
}

/** Whether the list was just opened. On a phone, the focus would open the keyboard. */
function isUnvisited(search) {
  const { href } = remembered(route.peek().entry, 'page')
  return !isNarrow.peek() && search === '' && href === undefined
}
