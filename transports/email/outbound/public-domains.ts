/** Providers with the same name under many top-level domains. */
const FAMILIES =
  /^(?:gmail|googlemail|hotmail|outlook|live|yahoo|ymail|gmx|yandex|aol)\.(?:com|net|de|fr|it|es|nl|be|at|ch|[a-z]{2}|com?\.[a-z]{2})$/

const DOMAINS = new Set(
  `msn.com rocketmail.com icloud.com me.com mac.com web.de t-online.de freenet.de arcor.de posteo.de mailbox.org mail.de
   mail.ru bk.ru inbox.ru list.ru ya.ru rambler.ru ukr.net i.ua meta.ua
   qq.com foxmail.com 163.com 126.com yeah.net 139.com 189.cn sina.com sina.cn sohu.com aliyun.com
   naver.com daum.net hanmail.net nate.com kakao.com docomo.ne.jp ezweb.ne.jp au.com softbank.ne.jp nifty.com
   biglobe.ne.jp ocn.ne.jp so-net.ne.jp plala.or.jp
   orange.fr wanadoo.fr free.fr laposte.net sfr.fr neuf.fr bbox.fr numericable.fr
   libero.it virgilio.it tin.it alice.it tiscali.it tim.it fastwebnet.it email.it
   telefonica.net movistar.es ono.com terra.es sapo.pt iol.pt netcabo.pt
   wp.pl o2.pl onet.pl onet.eu interia.pl op.pl gazeta.pl poczta.fm vp.pl
   seznam.cz centrum.cz email.cz post.cz volny.cz azet.sk zoznam.sk centrum.sk freemail.hu citromail.hu
   ziggo.nl kpnmail.nl xs4all.nl planet.nl home.nl hetnet.nl telenet.be skynet.be proximus.be scarlet.be
   bluewin.ch hispeed.ch sunrise.ch aon.at a1.net chello.at
   telia.com comhem.se bredband.net spray.se online.no broadpark.no mail.dk stofanet.dk elisanet.fi luukku.com kolumbus.fi
   otenet.gr abv.bg mail.bg mynet.com ttmail.com walla.co.il bezeqint.net
   uol.com.br bol.com.br terra.com.br ig.com.br globo.com
   comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net earthlink.net optonline.net juno.com
   btinternet.com sky.com virginmedia.com talktalk.net ntlworld.com blueyonder.co.uk tiscali.co.uk
   bigpond.com optusnet.com.au iinet.net.au xtra.co.nz shaw.ca rogers.com sympatico.ca telus.net videotron.ca
   rediffmail.com indiatimes.com zoho.com zohomail.com mail.com email.com usa.com fastmail.com fastmail.fm hey.com
   proton.me protonmail.com protonmail.ch pm.me tutanota.com tuta.com tuta.io hushmail.com duck.com appleid.com`.split(
    /\s+/,
  ),
)

/** Whether a domain is a public mail provider, whose addresses are unrelated to each other. */
export function isPublicDomain(domain: string): boolean {
  return DOMAINS.has(domain) || FAMILIES.test(domain)
}
