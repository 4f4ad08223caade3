"""Names that feeds give to the fields of a posting, whatever their format.

Hyphens, underscores and case are left out: `job_title`, `Job-Title` and `jobTitle` are one name.
Accents are left out too, and `ü` is `ue`.
Where a record has several of them, the first is taken.
"""

from __future__ import annotations

from typing import Final

from webloom.parsing.feeds.formats.format import Paths
from webloom.parsing.words import words

_ID = words(
    "guid externalid referencenumber referenceid reference refid refno refnumber ref jobid "
    "jobreference jobrefid jobrefcode jobref jobnumber jobcode jobkey jobpositionpostingid "
    "partnerjobid uniqueid identifier identifier/value id/idvalue uid uuid vacancyid "
    "vacancynumber vacancyref positionid offerid adid adreference advertid listingid postingid "
    "postid sourceid senderreference displayreference refnr referenz referencia riferimento "
    "vacaturenummer vacatureid referentienummer referentie referenznummer stellennummer stellenid "
    "kennziffer jobnummer anzeigennummer referenceoffre numerooffre idoffre identifiant idoferta "
    "numeroreferencia idofferta idannuncio idoferty numerreferencyjny annonsid codice codigo id "
    "requisitionid requisitionnumber reqid contestnumber did key code shortcode slug"
)
_TITLE = words(
    "title jobtitle positiontitle vacancytitle postingtitle listingtitle offertitle adtitle "
    "advertisementtitle jobpositiontitledescription jobpositiontitle jobname positionname "
    "jobopeningname position/title name position role headline designation heading "
    "stellenbezeichnung stellentitel titel jobtitel titre intitule titulo titolo puesto cargo "
    "stanowisko functietitel jobbezeichnung positionsbezeichnung berufsbezeichnung titreoffre "
    "titreposte titreannonce intituleposte intituleoffre libelleposte libelle poste titulooferta "
    "titulopuesto nombrepuesto nombreoferta titulovaga vaga titoloannuncio titoloofferta "
    "posizione vacaturetitel functienaam functie tytul nazwastanowiska tittel overskrift "
    "stillingstittel occupation beruf bezeichnung"
)
_URL = words(
    "url joburl link joblink detailurl detailsurl jobdetailurl detailpageurl permalink "
    "canonicalurl absoluteurl hostedurl landingpage landingpageurl deeplink deeplinkurl "
    "externalurl pageurl weburl webaddress displayurl viewurl vacancyurl adurl offerurl "
    "redirecturl clickurl uri href careersurl webpageurl publicurl jobpublicationurl positionuri "
    "jobopeningshareurl shareurl externeurl urlorigine refs/landingpage externalpath applyurl "
    "applicationurl applylink applicationlink applyhere howtoapply lien enlace lienoffre urloffre "
    "urlannonce urlstelle stellenlink stellenurl urloferta urlvacante urlannuncio vacatureurl "
    "linkoferty bewerbungslink bewerbungsurl lienpostuler urlcandidature sollicitatieurl"
)
_COMPANY = words(
    "company companyname company/name company/@name employer employername employer/name "
    "hiringorganization hiringorganization/name hiringorgname hiringcompany "
    "hiringorganizationname organization organisation organizationname organisationname "
    "advertisername advertiser clientname client recruitername recruiter brand brandname firm "
    "businessname agencyname agency unternehmen arbeitgeber firma entreprise entreprise/nom "
    "employeur empresa azienda bedrijf bedrijfsnaam pracodawca firmenname unternehmensname "
    "nomentreprise raisonsociale societe nomsociete nombreempresa nomeempresa nomeazienda "
    "ragionesociale werkgever opdrachtgever nazwafirmy foretag foeretag arbetsgivare virksomhed "
    "arbejdsgiver arbeidsgiver jobcompany jobemployer sourcename subcompany"
)
_LOCATION = words(
    "location joblocation locationname fulllocation formattedlocation locationtext "
    "displaylocation locationdescription locationstext positionlocationdisplay "
    "locationrestrictions locationrestriction primarylocation mainlocation worklocation "
    "candidaterequiredlocation candidatelocationrestriction place placeofwork workplace citystate "
    "area geography jobgeo jobregion office officelocation office/name arbeitsort einsatzort "
    "standort ort lieu lieutravail/libelle localisation ubicacion localizacion localidad luogo "
    "standplaats lieutravail lieudetravail lugar lugartrabajo localizacao luogodilavoro sede "
    "werklocatie werkplek locatie lokalizacja miejscepracy arbetsort hqlocation address"
)
_PLACES = (
    "location",
    "joblocation",
    "joblocation/address",
    "address",
    "address/postaladdress",
    "place",
    "locations",
    "locations/location",
    "worklocation",
    "arbeitsort",
)


def _in_places(names: str) -> tuple[str, ...]:
    parts = names.split()
    nested = (f"{place}/{part}" for place in _PLACES for part in parts)
    attributes = (f"location/@{part}" for part in parts)
    return (*nested, *parts, *attributes)


_PAY = (
    "salary",
    "compensation",
    "basesalary",
    "basesalary/value",
    "salaries/salary",
    "pay",
    "salaryrange",
    "payrange",
    "positionremuneration",
    "pay/salaryannual",
    "pay/salarymonthly",
    "pay/ratehourly",
)


def _in_pay(names: str, within: str) -> tuple[str, ...]:
    parts = (*within.split(), *names.split())
    nested = (f"{pay}/{part}" for pay in _PAY for part in (*parts, *(f"@{p}" for p in parts)))
    return (*names.split(), *nested)


_PAID: Final = {  # amounts whose names say what they are paid for
    "hour": words("hourlyrate pay/ratehourly"),
    "day": words("dailyrate"),
    "month": words("monthlysalary pay/salarymonthly"),
    "year": words("annualsalary pay/salaryannual annualsalarymin annualsalarymax"),
}
PAID: Final = "paid"  # any of them
PAID_BY: Final = {period: f"paidbythe{period}" for period in _PAID}
LISTED: Final = "listed"  # categories that are divided by commas, by their names
_NAMES: Final[Paths] = {
    "externalId": _ID,
    "title": _TITLE,
    "jobUrl": (*_URL, "link/@href", "url/@href"),
    "company": _COMPANY,
    "city": _in_places(
        "city town locality addresslocality municipality jobcity locationcity cityname geocity "
        "stadt ort ville commune ciudad localidad citta comune plaats cidade miasto miejscowosc "
        "poblacion municipio stad gemeente localita kommun kommune"
    ),
    "region": _in_places(
        "state region province county addressregion statename statecode stateprovince "
        "stateorprovince jobstate locationstate bundesland departement provincia provincie kanton "
        "canton regione comunidad comunidadautonoma regiao wojewodztwo fylke estado uf"
    ),
    "country": _in_places(
        "country countryname countrycode addresscountry jobcountry locationcountry countryiso "
        "geocountry nation land pays pais paese kraj"
    ),
    "location": (*_LOCATION, "locations/location", "locations"),
    "remote": words(
        "remote isremote remotetype remotework remoteallowed remotestatus remotejob "
        "remoteposition telecommute telecommuting workfromhome homeoffice joblocationtype "
        "workplacetype workmodel workmode workarrangement locationtype worksetting "
        "remoteindicator location/remote location/isremote"
    ),
    "jobType": words(
        "jobtype employmenttype jobtypes employmenttypes contracttype contracttime positiontype "
        "worktype typeofemployment workinghours worktime jobschedule schedule employment "
        "commitment contract employmentstatuslabel positionschedule/name beschaeftigungsart "
        "anstellungsart vertragsart arbeitszeit typecontrat typedecontrat contrat tipocontrato "
        "jornada contratto tipocontratto dienstverband employmenttypecode "
        "beschaeftigungsverhaeltnis beschaeftigung anstellung stellenart arbeitsverhaeltnis "
        "arbeitszeitmodell naturecontrat tempstravail tempsdetravail tipodecontrato tipojornada "
        "tipocontratacion tipodecontratto contractvorm soortdienstverband rodzajumowy umowa "
        "wymiarpracy wymiaretatu workingtimes anstallningsform timetype type"
    ),
    "salary": (*words(
        "salary salarytext salaryrange displaysalary salarydescription formattedsalary "
        "salarydisplay compensation pay payrange payrate wage wages remuneration basesalary "
        "estimatedsalary salaryinfo jobsalary annualsalary monthlysalary hourlyrate dailyrate "
        "package rate gehalt verguetung salaire salario sueldo stipendio retribuzione salaris "
        "wynagrodzenie lohn entgelt gehaltsspanne remuneracion remuneracao retribucion loon "
        "salarisindicatie pensja pay/salaryannual pay/salarymonthly pay/ratehourly"
    ), *(f"{pay}/{part}" for pay in _PAY for part in ("amount", "value", "text"))),
    PAID: tuple(name for names in _PAID.values() for name in names),
    **{PAID_BY[period]: names for period, names in _PAID.items()},
    "salaryMin": _in_pay(
        "salarymin minsalary salaryminimum minimumsalary salaryfrom salarylow salarystart "
        "annualsalarymin salaryrangefrom salaryrangemin minpay paymin payratemin mincompensation "
        "compensationmin compensationminimum minimumrange salarylower salarymininum",
        "min minimum minvalue from low lowend lowend/amount minamount start",
    ),
    "salaryMax": _in_pay(
        "salarymax maxsalary salarymaximum maximumsalary salaryto salaryhigh salaryend "
        "annualsalarymax salaryrangeto salaryrangemax maxpay paymax payratemax maxcompensation "
        "compensationmax compensationmaximum maximumrange salaryupper",
        "max maximum maxvalue to high highend highend/amount maxamount end",
    ),
    "salaryCurrency": _in_pay(
        "salarycurrency currency currencycode salarycurrencycode paycurrency compensationcurrency",
        "currency currencycode lowend/currencycode highend/currencycode",
    ),
    "salaryPeriod": _in_pay(
        "salaryperiod salaryfrequency salaryunit salaryinterval salarytype salaryper payperiod "
        "payfrequency paytype payunit salaryunittext unittext compensationperiod rateperiod "
        "compensationinterval compensationfrequency",
        "compensationtype rateintervalcode period periodicity frequency unit unittext interval "
        "type per",
    ),
    "categories": words(
        "category categories/category jobcategory tag tags/tag keyword keywords/keyword industry "
        "industries/industry jobindustry sector department departments/department jobfunction "
        "function discipline specialty classification team publishedcategory categoryname "
        "departmentname departmentlabel industryname jobfamily jobfamilygroup jobfield branche "
        "kategorie categorie categoria berufsfeld fachbereich bereich abteilung secteur "
        "secteuractivite metier domaine settore vakgebied beroepsgroep kategoria branza"
    ),
    LISTED: words("categories jobcategories tags keywords industries departments"),
    "description": words(
        "contentencoded encoded fulldescription descriptionhtml htmldescription jobdescription "
        "jobdescriptionhtml longdescription positiondescription vacancydescription "
        "descriptionfull description publicdescription desc contenthtml content contents body "
        "jobbody bodyhtml html details jobdetails jobdetail detail text contenttext jobtext "
        "adtext jobadtext stellenbeschreibung beschreibung descripcion descrizione omschrijving "
        "descricao opis stellentext anzeigentext descriptif descriptionposte descriptionoffre "
        "descriptifposte texte contenu descripcionoferta descripcionpuesto texto testo inhalt "
        "functieomschrijving vacaturetekst vacatureomschrijving tekst tresc trescogloszenia "
        "opisstanowiska beskrivning beskrivelse summary jobsummary externaldescriptionhtml "
        "externaldescription shortdescription briefdescription descriptionteaser snippet excerpt "
        "abstract jobexcerpt teaser post"
    ),
    "publishedAt": words(
        "pubdate published publishedat publishedon publisheddate publishdate publicationdate "
        "datepublished dateposted posteddate postdate postedat postedon postingdate posted "
        "listdate listeddate listingdate dategmt date jobdate createdat created createdon "
        "createddate creationdate datecreated releasedate releaseddate activationdate opendate "
        "openingdate dateopened openeddate firstpublished datelastpublished publicationstartdate "
        "postingstartdate postedatdatetimeutc firstseen datum issued validfrom onlinesince "
        "datesinceonline onlinefrom veroeffentlichungsdatum veroeffentlicht veroeffentlichtam "
        "aktuelleveroeffentlichungsdatum datepublication datedepublication datecreation "
        "fechapublicacion fechadepublicacion fecha datapubblicazione datapublicacao "
        "datapublikacji plaatsingsdatum publicatiedatum geplaatstop datumgeplaatst erstelltam "
        "erstellungsdatum onlinedatum einstelldatum onlineseit dateparution datemiseenligne "
        "dateajout fechaalta fechacreacion datainserimento datadodania dataogloszenia "
        "publiceringsdatum publicerad activedate activatedon postdetail/startdate/date updatedat "
        "updated updateddate modified modifieddate lastmodified dateupdated datemodified "
        "lastupdated lastactivitydate timestamp epoch"
    ),
    "expiresAt": words(
        "expirationdate expire expiresat expires expirydate expireson expiry expiredate "
        "expireddate dateexpires dateexpired expiration validthrough validuntil validto "
        "closingdate closedate closingon applicationdeadline applicationclosingdate deadline "
        "applyby applybefore applicationclosedate unpublishdate closeat closesat postingenddate "
        "bewerbungsfrist datelimite fechacaducidad datascadenza gueltigbis onlinebis ablaufdatum "
        "bewerbungsschluss laufzeitende dateexpiration datecloture datefinpublication "
        "datelimitecandidature fechalimite fechavencimiento fechaexpiracion fechacierre scadenza "
        "dataexpiracao sluitingsdatum vervaldatum waznedo waznosc datawaznosci sistaansokningsdag "
        "ansokningsfrist soknadsfrist postdetail/enddate/date"
    ),
}  # fmt: skip

# Some put "job" before all of their names: job_apply_link, job_min_salary.
_NOT_WITH_JOB: Final = {  # it means something else, or has the fields of the record in it
    *words("area position post region content contents"),
    *(path.partition("/")[0] for paths in _NAMES.values() for path in paths if "/" in path),
}
COMMON: Final[Paths] = {
    field: (
        *paths,
        *(f"job{name}" for name in paths if name.partition("/")[0] not in _NOT_WITH_JOB),
    )
    for field, paths in _NAMES.items()
}

# Some feeds write a record's fields as its attributes.
AS_ATTRIBUTES: Final[Paths] = {
    field: tuple(f"@{path}" for path in paths if "/" not in path) for field, paths in COMMON.items()
}
