"""Word lists, to be read and added to. Lower case, singular."""


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def words(text: str) -> frozenset[str]:
    """Comma-separated entries, which may hold blanks."""
    return frozenset(entry.strip() for entry in text.replace("\n", " ").split(",") if entry.strip())


def forms(text: str) -> dict[str, str]:
    """Each form with the name it stands for; an entry is "name: form, form", or the name alone. Semicolons between."""
    found: dict[str, str] = {}
    for entry in text.split(";"):
        name, _, said = entry.partition(":")
        for form in (said or name).split(","):
            found[form.strip()] = name.strip()
    return found


KIN = words(
    "wife, husband, spouse, partner, girlfriend, boyfriend, fiance, fiancé, fiancee, fiancée, ex, mother, mom, mum,"
    " mommy, father, dad, daddy, parent, parents,"
    " sister, brother, sibling, twin, son, daughter, kid, kids, child, children, baby, toddler, stepson,"
    " stepdaughter, stepfather, stepmother, grandmother, grandma, gran, nan,"
    " grandfather, grandpa, grandad, grandson, granddaughter, aunt, auntie, uncle, cousin, niece, nephew,"
    " mother-in-law, father-in-law, sister-in-law, brother-in-law,"
    " mother in law, father in law, sister in law, brother in law, in-laws, godmother, godfather, godson,"
    " goddaughter, family,"
    " older brother, older sister, younger brother, younger sister, big brother, big sister, little brother, little"
    " sister, eldest, youngest, oldest"
)
SOCIAL = words(
    "friend, best friend, roommate, room mate, flatmate, flat mate, housemate, neighbour, neighbor, colleague,"
    " coworker, co-worker, teammate, tutor, teacher, student, buddy, mate,"
    " mentor, mentee, coach, trainer, nanny, babysitter, cleaner, client, customer, supervisor, professor, pal,"
    " landlord, landlady, tenant, intern, assistant, cofounder, co-founder,"
    " business partner, lawyer, solicitor, accountant, tax adviser, tax advisor, notary, doctor, gp, dentist,"
    " therapist, psychologist, psychiatrist, physio,"
    " physiotherapist, vet, pediatrician, paediatrician, dermatologist, cardiologist, allergist, midwife,"
    " hairdresser, barber, plumber, electrician, mechanic, agent, broker, banker,"
    " optician, orthodontist, personal trainer, piano teacher, realtor, estate agent, gardener, surgeon,"
    " neurologist, nutritionist, dietitian, specialist, godparent, counsellor, contractor, deputy, hygienist, carer,"
    " childminder, caretaker, bookkeeper, secretary, social worker, case worker, instructor, vicar, priest, rabbi,"
    " imam,"
    " sponsor, guide runner"
)
BOSS = words(
    "manager, boss, line manager, supervisor, team lead, tech lead, lead, direct manager, skip-level, skip level,"
    " engineering manager, em, director, head of department, line lead, product owner"
)
REPORTEE = words(
    "report, direct report, reports, direct reports, intern, assistant, mentee, junior, apprentice, trainee, working"
    " student"
)
PET = words(
    "dog, cat, puppy, kitten, rabbit, hamster, parrot, horse, pony, tortoise, turtle, guinea pig, budgie, goldfish,"
    " ferret, snake, lizard, gecko, bunny, pet, hen, pup, canary"
)
PET_BREED = words(
    "golden retriever, labrador, lab, poodle, beagle, dachshund, border collie, german shepherd, terrier, corgi,"
    " husky, spaniel, bulldog, pug, greyhound, whippet, chihuahua,"
    " tabby, siamese, maine coon, ragdoll, retriever, collie, rottweiler, boxer, shiba, schnauzer"
)

# Things that, with "the", are somebody's own and not of an encyclopaedia.
OWN_THINGS = listed(
    "api apis backend frontend app service server cluster database db repo pipeline build deployment release module"
    " library"
    " package schema endpoint queue worker cache gateway dashboard website site intranet vpn network router printer"
    " scanner"
    " contract lease budget invoice project sprint roadmap client customer vendor supplier team office building flat"
    " apartment house kitchen bathroom bedroom garage garden cellar basement attic balcony roof boiler oven fridge"
    " dishwasher"
    " heating radiator thermostat alarm lock door gate fence car van bike bicycle boat caravan trailer school nursery"
    " kindergarten class course teacher landlord tenant neighbour neighbor dog cat rabbit horse kids children twins"
    " baby"
    " choir band club gym workshop studio shop store bakery clinic practice lab warehouse factory machine laptop"
    " desktop phone"
    " tablet camera freezer cupboard attic piano guitar policy insurance mortgage loan warranty subscription membership"
)

DIETS = forms(
    "vegan; vegetarian: vegetarian, veggie, veg; pescatarian: pescatarian, pescetarian; flexitarian;"
    " keto: keto, ketogenic; paleo; halal; kosher; gluten-free: gluten-free, gluten free;"
    " lactose-free: lactose-free, lactose free; dairy-free: dairy-free, dairy free;"
    " plant-based: plant-based, plant based; low-carb: low-carb, low carb; carnivore;"
    " omnivore: omnivore, meat eater; fodmap: fodmap, low-fodmap; sugar-free; raw food;"
    " mediterranean: mediterranean diet"
)

CONDITIONS = forms(
    "diabetes: diabetic, diabetes; asthma: asthmatic, asthma; epilepsy: epileptic, epilepsy;"
    " coeliac: coeliac, celiac, coeliac disease, celiac disease; migraine: migraine, migraines; adhd;"
    " dyslexia: dyslexic, dyslexia; autism: autistic, autism; pregnancy: pregnant; arthritis;"
    " hypertension: hypertension, high blood pressure;"
    " colour_blindness: colour blind, colourblind, color blind, colorblind, colour-blind, color-blind;"
    " deafness: deaf; hearing_loss: hard of hearing; low_vision: visually impaired;"
    " lactose_intolerance: lactose intolerant; insomnia; anaemia: anaemic, anemic;"
    " hypothyroidism: hypothyroid, hypothyroidism; ibs; crohns: crohn's; endometriosis; psoriasis; eczema;"
    " depression; bipolar; tinnitus; sciatica; scoliosis; sleep_apnoea: sleep apnea, sleep apnoea;"
    " hay_fever: hay fever; gout; rsi; carpal_tunnel: carpal tunnel; claustrophobia: claustrophobic;"
    " haemophilia: haemophilia, hemophilia; reflux; vertigo; pacemaker; bad_knee: bad knee; bad_back: bad back;"
    " handedness: left-handed, left handed; slipped_disc: slipped disc"
)

MEDICINES = words(
    "lisinopril, metformin, ibuprofen, paracetamol, acetaminophen, aspirin, warfarin, insulin, levothyroxine,"
    " atorvastatin, simvastatin, omeprazole, pantoprazole, amlodipine, ramipril,"
    " bisoprolol, metoprolol, losartan, sertraline, citalopram, escitalopram, fluoxetine, lithium, ritalin,"
    " methylphenidate, adderall, concerta, antihistamine, cetirizine, loratadine, salbutamol,"
    " ventolin, prednisone, prednisolone, methotrexate, gabapentin, tramadol, codeine, amoxicillin, penicillin,"
    " doxycycline, eliquis, xarelto, apixaban, statins, beta blockers, blood thinners,"
    " antidepressants, the pill, iron supplements, vitamin d, vitamin b12, melatonin, l-thyroxine, thyroxine,"
    " ozempic, wegovy, humira, zoloft, prozac, xanax, lexapro, synthroid, finasteride, spironolactone, propranolol,"
    " candesartan"
)
MEDICINE_ENDING = (
    "pril",
    "statin",
    "olol",
    "sartan",
    "azole",
    "cillin",
    "formin",
    "oxetine",
    "prazole",
    "mycin",
    "thyroxine",
    "triptan",
    "dipine",
    "gliptin",
    "gliflozin",
    "cycline",
    "pram",
    "traline",
)

# Companies that a bare "moved to X" or "at X" takes for an employer.
COMPANIES = words(
    "siemens, bosch, vw, volkswagen, airbus, allianz, bmw, audi, daimler, mercedes, porsche, sap, telekom, deutsche"
    " bahn, lufthansa, bayer, basf, zalando, delivery hero, google, apple, amazon, aws,"
    " microsoft, meta, facebook, netflix, spotify, stripe, shopify, uber, lyft, airbnb, tesla, ibm, intel, nvidia,"
    " amd, oracle, salesforce, adobe, cisco, dell, hp, samsung, sony, philips, asml, ing,"
    " ikea, nokia, ericsson, novartis, roche, nestle, nestlé, ubs, hsbc, barclays, santander, bbva, deloitte, kpmg,"
    " pwc, ey, accenture, mckinsey, bcg, bain, booking, adyen, klarna, revolut, monzo, n26,"
    " openai, anthropic, deepmind, databricks, snowflake, datadog, github, gitlab, atlassian, canva, hubspot,"
    " zendesk, twilio, dropbox, slack, zoom, pfizer, moderna, astrazeneca, gsk, boeing, lockheed,"
    " shell, bp, total, enel, eon, unilever, loreal, l'oréal, nike, adidas, puma, h&m, zara, inditex, lidl, aldi,"
    " tesco, walmart, target, fedex, dhl, ups, thales, safran, renault, peugeot, ferrari, fiat,"
    " volvo, scania, maersk, vodafone, orange, telefonica, bt, goldman sachs, goldman, jpmorgan, morgan stanley,"
    " citi, visa, mastercard, paypal, linkedin, twitter, tiktok, bytedance, pinterest, reddit,"
    " toyota, honda, nissan, hitachi, fujitsu, infosys, tcs, wipro, cloudflare, red hat, suse, canonical, elastic,"
    " mongodb, hashicorp, vercel, figma, notion, miele, henkel, continental, zf, infineon"
)
COMPANY_ENDING = (
    " gmbh",
    " ag",
    " inc",
    " ltd",
    " llc",
    " corp",
    " plc",
    " bank",
    " labs",
    " university",
    " hospital",
    " group",
    " studios",
    " consulting",
    " systems",
    " software",
    " solutions",
    " school",
    " clinic",
    " bakery",
    " college",
)

# What a thing is, where its name alone says so: "I switched to Firefox" is about the browser.
THINGS: dict[str, frozenset[str]] = {
    "editor": words(
        "emacs, vim, neovim, nvim, vs code, vscode, sublime, sublime text, intellij, pycharm, webstorm, rider,"
        " xcode, zed, helix, notepad++, nano, android studio, eclipse, cursor, rstudio, goland"
    ),
    "os": words(
        "linux, ubuntu, debian, fedora, arch, arch linux, nixos, macos, mac os, windows, windows 11, windows 10,"
        " mint, linux mint, pop os, freebsd, chromeos"
    ),
    "browser": words("firefox, chrome, safari, brave, vivaldi, opera, librewolf, chromium"),
    "phone": words("iphone, pixel, galaxy, fairphone, oneplus, android phone, xiaomi, nothing phone, motorola"),
    "computer": words(
        "macbook, macbook pro, macbook air, thinkpad, dell xps, xps, imac, mac mini, surface, framework laptop,"
        " chromebook"
    ),
    "database": words(
        "postgres, postgresql, mysql, mariadb, mongo, mongodb, sqlite, oracle, sql server, mssql, cassandra,"
        " dynamodb, cockroachdb, redis, clickhouse, snowflake, bigquery, redshift, couchdb, neo4j, duckdb,"
        " firestore, aurora, timescaledb"
    ),
    "cloud": words(
        "aws, azure, gcp, google cloud, hetzner, digitalocean, digital ocean, ovh, heroku, fly.io, vercel, netlify,"
        " render, linode, scaleway, cloudflare, on-prem, on prem, bare metal"
    ),
    "ci": words(
        "jenkins, github actions, gitlab ci, circleci, travis, travis ci, buildkite, teamcity, drone, bamboo, azure"
        " pipelines"
    ),
    "queue": words("kafka, rabbitmq, sqs, nats, celery, pulsar, sidekiq"),
    "package_manager": words("npm, yarn, pnpm, pip, poetry, uv, conda, pipenv, bun"),
    "framework": words(
        "django, flask, fastapi, rails, laravel, spring, spring boot, express, nestjs, next.js, nextjs, nuxt, react,"
        " vue, angular, svelte, sveltekit, solidjs, remix, astro, htmx, phoenix"
    ),
    "programming_language": words(
        "python, javascript, typescript, rust, golang, java, kotlin, swift, ruby, php, c++, c#, scala, haskell,"
        " elixir, clojure, perl, julia, ocaml"
    ),
    "version_control": words("github, gitlab, bitbucket, gitea, codeberg, sourcehut, forgejo"),
    "tracker": words("jira, linear, trello, asana, basecamp, monday.com, youtrack, shortcut, clickup, redmine"),
    "chat": words(
        "slack, microsoft teams, ms teams, discord, mattermost, zulip, telegram, whatsapp, signal, matrix,"
        " rocket.chat"
    ),
    "notes_app": words(
        "notion, obsidian, evernote, onenote, logseq, roam, apple notes, google keep, bear, joplin, craft"
    ),
    "email_provider": words(
        "gmail, outlook, protonmail, proton mail, proton, fastmail, posteo, mailbox.org, icloud mail, tutanota,"
        " yahoo mail, hey"
    ),
    "password_manager": words("1password, bitwarden, lastpass, keepass, keepassxc, dashlane"),
    "music_service": words("spotify, apple music, tidal, deezer, youtube music, qobuz, amazon music, soundcloud"),
    "bank": words(
        "n26, ing, revolut, monzo, starling, hsbc, barclays, lloyds, natwest, chase, wells fargo, bank of america,"
        " citibank, santander, bbva, deutsche bank, commerzbank, sparkasse, dkb, comdirect, rabobank, abn amro,"
        " bunq, wise, ubs, credit suisse, postfinance, nordea, seb, unicredit, bnp paribas, societe generale,"
        " capital one, nationwide, halifax, caixabank, triodos"
    ),
    "car": words(
        "honda jazz, jazz, honda civic, civic, skoda, skoda fabia, fabia, octavia, toyota, corolla, yaris, prius, vw"
        " golf, golf, polo, passat, tiguan, id.3, id.4, ford, fiesta, focus, tesla, model 3, model y, bmw, audi,"
        " mercedes, volvo, renault, clio, zoe, megane, peugeot, citroen, opel, corsa, astra, fiat, fiat 500, panda,"
        " seat, ibiza, leon, kia, niro, hyundai, ioniq, kona, mazda, nissan, leaf, qashqai, subaru, mini, mini"
        " cooper, dacia, duster, sandero, honda, suzuki, jeep, land rover, porsche, volkswagen, chevrolet, polestar,"
        " lexus, mitsubishi, outlander"
    ),
    "mobile_provider": words(
        "vodafone, o2, telekom, t-mobile, verizon, at&t, ee, giffgaff, three, orange, telefonica, movistar,"
        " congstar, aldi talk, sunrise, swisscom, kpn, lebara"
    ),
    "shell": words("zsh, bash, fish, powershell, nushell, oh my zsh"),
    "terminal": words("iterm, iterm2, kitty, alacritty, wezterm, ghostty, windows terminal, tmux"),
    "design_tool": words("figma, sketch, adobe xd, penpot, canva"),
    "video_calls": words("zoom, google meet, webex, jitsi, whereby, skype"),
    "reader": words("kindle, kobo, tolino, pocketbook, remarkable"),
}  # fmt: skip
# The same word stands in several lists; without a word of that domain nearby these are too common to tell.
THING_NEEDS_VERB = words(
    "ing, chase, wise, hey, three, golf, polo, focus, leaf, panda, seat, leon, mini, jazz, arch, mint, edge, orange,"
    " opera, brave, express, spring, render, signal, matrix, craft, bear, python, java, shortcut, linear, drone,"
    " galaxy, surface, cursor, ee, render, phoenix, astro, swift, bun, uv, fish, sketch, safari, target, three, zed,"
    " helix, nano, eclipse, proton, craft, total, visa, shell, zoom"
)
THING_OF = {word: kind for kind, listed in reversed(THINGS.items()) for word in sorted(listed)}

LANGUAGES = words(
    "english, french, german, spanish, italian, portuguese, dutch, polish, russian, ukrainian, turkish, arabic,"
    " hebrew, hindi, urdu, bengali, chinese, mandarin, cantonese, japanese, korean, swedish,"
    " norwegian, danish, finnish, icelandic, czech, slovak, hungarian, romanian, bulgarian, greek, croatian,"
    " serbian, slovenian, catalan, basque, galician, welsh, irish, latin, vietnamese, thai,"
    " indonesian, malay, tagalog, swahili, persian, farsi, estonian, latvian, lithuanian, afrikaans, esperanto,"
    " tamil, telugu, marathi, albanian, luxembourgish, deutsch, français, español, italiano, swiss german"
)
OCCUPATIONS = words(
    "nurse, doctor, lawyer, chef, cook, dev, developer, engineer, architect, dentist, vet, pilot, student,"
    " accountant, pharmacist, physicist, chemist, biologist, journalist, artist, musician, therapist,"
    " psychologist, translator, librarian, technician, electrician, mechanic, plumber, carpenter, farmer, baker,"
    " barista, waiter, waitress, analyst, consultant, freelancer, contractor, founder, ceo, cto, cfo,"
    " coo, vp, director, manager, lead, head, principal, professor, lecturer, researcher, scientist, postdoc, phd,"
    " intern, apprentice, trainee, secretary, treasurer, chair, chairman, chairwoman, chairperson,"
    " president, captain, coach, trainer, teacher, tutor, editor, writer, author, photographer, designer,"
    " illustrator, programmer, sysadmin, admin, sre, devops, pm, recruiter, hr, firefighter, paramedic, midwife,"
    " surgeon, gp, judge, notary, realtor, broker, banker, economist, statistician, actuary, geologist, surveyor,"
    " clerk, cashier, driver, courier, gardener, florist, hairdresser, tailor, soldier, officer,"
    " policeman, detective, social worker, caregiver, stay-at-home dad, stay-at-home mom, retired, pensioner,"
    " self-employed, unemployed, copywriter, marketer, producer, actor, actress, dancer, singer, composer,"
    " owner, co-owner, cofounder, co-founder, ops, qa, tester, dba, ux, data scientist, optician, radiologist,"
    " paralegal, solicitor, barrister, beekeeper, welder, bookkeeper, conductor, curator, historian, zoologist"
)
MOODS = words(
    "tired, sleepy, exhausted, knackered, hungry, starving, thirsty, bored, happy, sad, angry, mad, annoyed,"
    " frustrated, stressed, excited, nervous, anxious, cold, hot, sick, ill, hungover, drunk,"
    " confused, lost, stuck, busy, late, done, ready, back, here, fine, ok, okay, good, great, well, better, awake,"
    " alone, home, wiped, beat, dizzy, grumpy, cranky, upset, worried, swamped, slammed,"
    " overwhelmed, freezing, melting, dead, fried, drained, distracted, offline, away, out, free, unwell, in a rush,"
    " in a hurry, in bed, shattered, jet lagged, jetlagged, sore, chilling, procrastinating, sweaty, soaked"
)
UNFINISHED_STATES = words(
    "red, green, failing, broken, down, flaky, hanging, stuck, running, loading, slow, laggy, crashing, patchy,"
    " offline, compiling, building, deploying, dying, dead, spinning, throttled, full, acting up,"
    " busy, late, delayed, closed, open, blocked, queued, pending, cold, hot, loud, noisy, empty, frozen, low, weak,"
    " unreachable, unstable, rebooting, updating, restarting, timing out, overloaded, up, back up"
)
