"""The fields of Kubernetes' internal core types, in their order: what its messages print of a struct.

Some messages contain an object as Go prints it: field names as in Go, every field, in the order of the
declaration. One type per entry; `GoName=jsonName:code`, where the code is s(tring), i(nteger), b(ool), q(uantity),
x (integer or string), t(ime), y (bytes), `SName` a struct; before it `?` for a pointer, `[` for a list, `{` for a
map; after it `~` where an empty value is left out. `+:SName` is an embedded struct, printed flat.
"""

CORE_TYPES = """\
AWSElasticBlockStoreVolumeSource: VolumeID=volumeID:s FSType=fsType:s Partition=partition:i
    ReadOnly=readOnly:b
Affinity: NodeAffinity=nodeAffinity:?SNodeAffinity PodAffinity=podAffinity:?SPodAffinity
    PodAntiAffinity=podAntiAffinity:?SPodAntiAffinity
AppArmorProfile: Type=type:s LocalhostProfile=localhostProfile:?s
AzureDiskVolumeSource: DiskName=diskName:s DataDiskURI=diskURI:s CachingMode=cachingMode:?s
    FSType=fsType:?s ReadOnly=readOnly:?b Kind=kind:?s
AzureFilePersistentVolumeSource: SecretName=secretName:s ShareName=shareName:s ReadOnly=readOnly:b
    SecretNamespace=secretNamespace:?s
AzureFileVolumeSource: SecretName=secretName:s ShareName=shareName:s ReadOnly=readOnly:b
CSIPersistentVolumeSource: Driver=driver:s VolumeHandle=volumeHandle:s ReadOnly=readOnly:b FSType=fsType:s
    VolumeAttributes=volumeAttributes:{s
    ControllerPublishSecretRef=controllerPublishSecretRef:?SSecretReference
    NodeStageSecretRef=nodeStageSecretRef:?SSecretReference
    NodePublishSecretRef=nodePublishSecretRef:?SSecretReference
    ControllerExpandSecretRef=controllerExpandSecretRef:?SSecretReference
    NodeExpandSecretRef=nodeExpandSecretRef:?SSecretReference
CSIVolumeSource: Driver=driver:s ReadOnly=readOnly:?b FSType=fsType:?s
    VolumeAttributes=volumeAttributes:{s NodePublishSecretRef=nodePublishSecretRef:?SLocalObjectReference
Capabilities: Add=add:[s Drop=drop:[s
CephFSPersistentVolumeSource: Monitors=monitors:[s Path=path:s User=user:s SecretFile=secretFile:s
    SecretRef=secretRef:?SSecretReference ReadOnly=readOnly:b
CephFSVolumeSource: Monitors=monitors:[s Path=path:s User=user:s SecretFile=secretFile:s
    SecretRef=secretRef:?SLocalObjectReference ReadOnly=readOnly:b
CinderPersistentVolumeSource: VolumeID=volumeID:s FSType=fsType:s ReadOnly=readOnly:b
    SecretRef=secretRef:?SSecretReference
CinderVolumeSource: VolumeID=volumeID:s FSType=fsType:s ReadOnly=readOnly:b
    SecretRef=secretRef:?SLocalObjectReference
ClusterTrustBundleProjection: Name=name:?s SignerName=signerName:?s
    LabelSelector=labelSelector:?SLabelSelector Optional=optional:?b Path=path:s
ConfigMapEnvSource: +:SLocalObjectReference Optional=optional:?b
ConfigMapKeySelector: +:SLocalObjectReference Key=key:s Optional=optional:?b
ConfigMapNodeConfigSource: Namespace=namespace:s Name=name:s UID=uid:s ResourceVersion=resourceVersion:s
    KubeletConfigKey=kubeletConfigKey:s
ConfigMapProjection: +:SLocalObjectReference Items=items:[SKeyToPath Optional=optional:?b
ConfigMapVolumeSource: +:SLocalObjectReference Items=items:[SKeyToPath DefaultMode=defaultMode:?i
    Optional=optional:?b
Container: Name=name:s Image=image:s Command=command:[s Args=args:[s WorkingDir=workingDir:s
    Ports=ports:[SContainerPort EnvFrom=envFrom:[SEnvFromSource Env=env:[SEnvVar
    Resources=resources:SResourceRequirements ResizePolicy=resizePolicy:[SContainerResizePolicy
    RestartPolicy=restartPolicy:?s RestartPolicyRules=restartPolicyRules:[SContainerRestartRule
    VolumeMounts=volumeMounts:[SVolumeMount VolumeDevices=volumeDevices:[SVolumeDevice
    LivenessProbe=livenessProbe:?SProbe ReadinessProbe=readinessProbe:?SProbe
    StartupProbe=startupProbe:?SProbe Lifecycle=lifecycle:?SLifecycle
    TerminationMessagePath=terminationMessagePath:s TerminationMessagePolicy=terminationMessagePolicy:s
    ImagePullPolicy=imagePullPolicy:s SecurityContext=securityContext:?SSecurityContext Stdin=stdin:b
    StdinOnce=stdinOnce:b TTY=tty:b
ContainerPort: Name=name:s HostPort=hostPort:i ContainerPort=containerPort:i Protocol=protocol:s
    HostIP=hostIP:s
ContainerResizePolicy: ResourceName=resourceName:s RestartPolicy=restartPolicy:s
ContainerRestartRule: Action=action:s ExitCodes=exitCodes:?SContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: Operator=operator:s Values=values:[i
DownwardAPIProjection: Items=items:[SDownwardAPIVolumeFile
DownwardAPIVolumeFile: Path=path:s FieldRef=fieldRef:?SObjectFieldSelector
    ResourceFieldRef=resourceFieldRef:?SResourceFieldSelector Mode=mode:?i
DownwardAPIVolumeSource: Items=items:[SDownwardAPIVolumeFile DefaultMode=defaultMode:?i
EmptyDirVolumeSource: Medium=medium:s SizeLimit=sizeLimit:?q
EnvFromSource: Prefix=prefix:s ConfigMapRef=configMapRef:?SConfigMapEnvSource
    SecretRef=secretRef:?SSecretEnvSource
EnvVar: Name=name:s Value=value:s ValueFrom=valueFrom:?SEnvVarSource
EnvVarSource: FieldRef=fieldRef:?SObjectFieldSelector
    ResourceFieldRef=resourceFieldRef:?SResourceFieldSelector
    ConfigMapKeyRef=configMapKeyRef:?SConfigMapKeySelector SecretKeyRef=secretKeyRef:?SSecretKeySelector
    FileKeyRef=fileKeyRef:?SFileKeySelector
EphemeralContainer: +:SEphemeralContainerCommon TargetContainerName=targetContainerName:s
EphemeralContainerCommon: Name=name:s Image=image:s Command=command:[s Args=args:[s
    WorkingDir=workingDir:s Ports=ports:[SContainerPort EnvFrom=envFrom:[SEnvFromSource Env=env:[SEnvVar
    Resources=resources:SResourceRequirements ResizePolicy=resizePolicy:[SContainerResizePolicy
    RestartPolicy=restartPolicy:?s RestartPolicyRules=restartPolicyRules:[SContainerRestartRule
    VolumeMounts=volumeMounts:[SVolumeMount VolumeDevices=volumeDevices:[SVolumeDevice
    LivenessProbe=livenessProbe:?SProbe ReadinessProbe=readinessProbe:?SProbe
    StartupProbe=startupProbe:?SProbe Lifecycle=lifecycle:?SLifecycle
    TerminationMessagePath=terminationMessagePath:s TerminationMessagePolicy=terminationMessagePolicy:s
    ImagePullPolicy=imagePullPolicy:s SecurityContext=securityContext:?SSecurityContext Stdin=stdin:b
    StdinOnce=stdinOnce:b TTY=tty:b
EphemeralVolumeSource: VolumeClaimTemplate=volumeClaimTemplate:?SPersistentVolumeClaimTemplate
EventSource: Component=component:s Host=host:s
ExecAction: Command=command:[s
FCVolumeSource: TargetWWNs=targetWWNs:[s Lun=lun:?i FSType=fsType:s ReadOnly=readOnly:b WWIDs=wwids:[s
FileKeySelector: VolumeName=volumeName:s Path=path:s Key=key:s Optional=optional:?b
FlexPersistentVolumeSource: Driver=driver:s FSType=fsType:s SecretRef=secretRef:?SSecretReference
    ReadOnly=readOnly:b Options=options:{s
FlexVolumeSource: Driver=driver:s FSType=fsType:s SecretRef=secretRef:?SLocalObjectReference
    ReadOnly=readOnly:b Options=options:{s
FlockerVolumeSource: DatasetName=datasetName:s DatasetUUID=datasetUUID:s
GCEPersistentDiskVolumeSource: PDName=pdName:s FSType=fsType:s Partition=partition:i ReadOnly=readOnly:b
GRPCAction: Port=port:i Service=service:?s
GitRepoVolumeSource: Repository=repository:s Revision=revision:s Directory=directory:s
GlusterfsPersistentVolumeSource: EndpointsName=endpoints:s Path=path:s ReadOnly=readOnly:b
    EndpointsNamespace=endpointsNamespace:?s
GlusterfsVolumeSource: EndpointsName=endpoints:s Path=path:s ReadOnly=readOnly:b
HTTPGetAction: Path=path:s Port=port:x Host=host:s Scheme=scheme:s HTTPHeaders=httpHeaders:[SHTTPHeader
HTTPHeader: Name=name:s Value=value:s
HostAlias: IP=ip:s Hostnames=hostnames:[s
HostIP: IP=ip:s
HostPathVolumeSource: Path=path:s Type=type:?s
ISCSIPersistentVolumeSource: TargetPortal=targetPortal:s IQN=iqn:s Lun=lun:i
    ISCSIInterface=iscsiInterface:s FSType=fsType:s ReadOnly=readOnly:b Portals=portals:[s
    DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b
    SecretRef=secretRef:?SSecretReference InitiatorName=initiatorName:?s
ISCSIVolumeSource: TargetPortal=targetPortal:s IQN=iqn:s Lun=lun:i ISCSIInterface=iscsiInterface:s
    FSType=fsType:s ReadOnly=readOnly:b Portals=portals:[s DiscoveryCHAPAuth=chapAuthDiscovery:b
    SessionCHAPAuth=chapAuthSession:b SecretRef=secretRef:?SLocalObjectReference
    InitiatorName=initiatorName:?s
ImageVolumeSource: Reference=reference:s PullPolicy=pullPolicy:s
KeyToPath: Key=key:s Path=path:s Mode=mode:?i
LabelSelector: matchLabels=matchLabels:{s~ matchExpressions=matchExpressions:[SLabelSelectorRequirement~
LabelSelectorRequirement: key=key:s operator=operator:s values=values:[s~
Lifecycle: PostStart=postStart:?SLifecycleHandler PreStop=preStop:?SLifecycleHandler
    StopSignal=stopSignal:?s
LifecycleHandler: Exec=exec:?SExecAction HTTPGet=httpGet:?SHTTPGetAction
    TCPSocket=tcpSocket:?STCPSocketAction Sleep=sleep:?SSleepAction
LocalObjectReference: Name=name:s
LocalVolumeSource: Path=path:s FSType=fsType:?s
ManagedFieldsEntry: manager=manager:s~ operation=operation:s~ apiVersion=apiVersion:s~ time=time:?t~
    fieldsType=fieldsType:s~ fieldsV1=fieldsV1:?xo subresource=subresource:s~
NFSVolumeSource: Server=server:s Path=path:s ReadOnly=readOnly:b
NodeAddress: Type=type:s Address=address:s
NodeAffinity:
    RequiredDuringSchedulingIgnoredDuringExecution=requiredDuringSchedulingIgnoredDuringExecution:?SNodeSelector
    PreferredDuringSchedulingIgnoredDuringExecution=preferredDuringSchedulingIgnoredDuringExecution:[SPreferredSchedulingTerm
NodeConfigSource: ConfigMap=configMap:?SConfigMapNodeConfigSource
NodeSelector: NodeSelectorTerms=nodeSelectorTerms:[SNodeSelectorTerm
NodeSelectorRequirement: Key=key:s Operator=operator:s Values=values:[s
NodeSelectorTerm: MatchExpressions=matchExpressions:[SNodeSelectorRequirement
    MatchFields=matchFields:[SNodeSelectorRequirement
ObjectFieldSelector: APIVersion=apiVersion:s FieldPath=fieldPath:s
ObjectMeta: name=name:s~ generateName=generateName:s~ namespace=namespace:s~ selfLink=selfLink:s~
    uid=uid:s~ resourceVersion=resourceVersion:s~ generation=generation:i~
    creationTimestamp=creationTimestamp:t~ deletionTimestamp=deletionTimestamp:?t~
    deletionGracePeriodSeconds=deletionGracePeriodSeconds:?i~ labels=labels:{s~
    annotations=annotations:{s~ ownerReferences=ownerReferences:[SOwnerReference~
    finalizers=finalizers:[s~ managedFields=managedFields:[SManagedFieldsEntry~
ObjectReference: Kind=kind:s Namespace=namespace:s Name=name:s UID=uid:s APIVersion=apiVersion:s
    ResourceVersion=resourceVersion:s FieldPath=fieldPath:s
OwnerReference: apiVersion=apiVersion:s kind=kind:s name=name:s uid=uid:s controller=controller:?b~
    blockOwnerDeletion=blockOwnerDeletion:?b~
PersistentVolumeClaimSpec: AccessModes=accessModes:[s Selector=selector:?SLabelSelector
    Resources=resources:SVolumeResourceRequirements VolumeName=volumeName:s
    StorageClassName=storageClassName:?s VolumeMode=volumeMode:?s
    DataSource=dataSource:?STypedLocalObjectReference DataSourceRef=dataSourceRef:?STypedObjectReference
    VolumeAttributesClassName=volumeAttributesClassName:?s
PersistentVolumeClaimTemplate: +:SObjectMeta Spec=spec:SPersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: ClaimName=claimName:s ReadOnly=readOnly:b
PersistentVolumeSource: GCEPersistentDisk=gcePersistentDisk:?SGCEPersistentDiskVolumeSource
    AWSElasticBlockStore=awsElasticBlockStore:?SAWSElasticBlockStoreVolumeSource
    HostPath=hostPath:?SHostPathVolumeSource Glusterfs=glusterfs:?SGlusterfsPersistentVolumeSource
    NFS=nfs:?SNFSVolumeSource RBD=rbd:?SRBDPersistentVolumeSource Quobyte=quobyte:?SQuobyteVolumeSource
    ISCSI=iscsi:?SISCSIPersistentVolumeSource FlexVolume=flexVolume:?SFlexPersistentVolumeSource
    Cinder=cinder:?SCinderPersistentVolumeSource CephFS=cephfs:?SCephFSPersistentVolumeSource
    FC=fc:?SFCVolumeSource Flocker=flocker:?SFlockerVolumeSource
    AzureFile=azureFile:?SAzureFilePersistentVolumeSource
    VsphereVolume=vsphereVolume:?SVsphereVirtualDiskVolumeSource
    AzureDisk=azureDisk:?SAzureDiskVolumeSource
    PhotonPersistentDisk=photonPersistentDisk:?SPhotonPersistentDiskVolumeSource
    PortworxVolume=portworxVolume:?SPortworxVolumeSource ScaleIO=scaleIO:?SScaleIOPersistentVolumeSource
    Local=local:?SLocalVolumeSource StorageOS=storageos:?SStorageOSPersistentVolumeSource
    CSI=csi:?SCSIPersistentVolumeSource
PhotonPersistentDiskVolumeSource: PdID=pdID:s FSType=fsType:s
PodAffinity:
    RequiredDuringSchedulingIgnoredDuringExecution=requiredDuringSchedulingIgnoredDuringExecution:[SPodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution=preferredDuringSchedulingIgnoredDuringExecution:[SWeightedPodAffinityTerm
PodAffinityTerm: LabelSelector=labelSelector:?SLabelSelector Namespaces=namespaces:[s
    TopologyKey=topologyKey:s NamespaceSelector=namespaceSelector:?SLabelSelector
    MatchLabelKeys=matchLabelKeys:[s MismatchLabelKeys=mismatchLabelKeys:[s
PodAntiAffinity:
    RequiredDuringSchedulingIgnoredDuringExecution=requiredDuringSchedulingIgnoredDuringExecution:[SPodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution=preferredDuringSchedulingIgnoredDuringExecution:[SWeightedPodAffinityTerm
PodCertificateProjection: SignerName=signerName:s KeyType=keyType:s
    MaxExpirationSeconds=maxExpirationSeconds:?i CredentialBundlePath=credentialBundlePath:s
    KeyPath=keyPath:s CertificateChainPath=certificateChainPath:s UserAnnotations=userAnnotations:{s
PodDNSConfig: Nameservers=nameservers:[s Searches=searches:[s Options=options:[SPodDNSConfigOption
PodDNSConfigOption: Name=name:s Value=value:?s
PodIP: IP=ip:s
PodOS: Name=name:s
PodReadinessGate: ConditionType=conditionType:s
PodResourceClaim: Name=name:s ResourceClaimName=resourceClaimName:?s
    ResourceClaimTemplateName=resourceClaimTemplateName:?s
PodSchedulingGate: Name=name:s
PodSchedulingGroup: PodGroupName=podGroupName:?s
PodSecurityContext: HostNetwork=hostNetwork:b HostPID=hostPID:b HostIPC=hostIPC:b
    ShareProcessNamespace=shareProcessNamespace:?b HostUsers=hostUsers:?b
    SELinuxOptions=seLinuxOptions:?SSELinuxOptions
    WindowsOptions=windowsOptions:?SWindowsSecurityContextOptions RunAsUser=runAsUser:?i
    RunAsGroup=runAsGroup:?i RunAsNonRoot=runAsNonRoot:?b SupplementalGroups=supplementalGroups:[i
    SupplementalGroupsPolicy=supplementalGroupsPolicy:?s FSGroup=fsGroup:?i
    FSGroupChangePolicy=fsGroupChangePolicy:?s Sysctls=sysctls:[SSysctl
    SeccompProfile=seccompProfile:?SSeccompProfile AppArmorProfile=appArmorProfile:?SAppArmorProfile
    SELinuxChangePolicy=seLinuxChangePolicy:?s
PodSpec: Volumes=volumes:[SVolume InitContainers=initContainers:[SContainer
    Containers=containers:[SContainer EphemeralContainers=ephemeralContainers:[SEphemeralContainer
    RestartPolicy=restartPolicy:s TerminationGracePeriodSeconds=terminationGracePeriodSeconds:?i
    ActiveDeadlineSeconds=activeDeadlineSeconds:?i DNSPolicy=dnsPolicy:s NodeSelector=nodeSelector:{s
    ServiceAccountName=serviceAccountName:s AutomountServiceAccountToken=automountServiceAccountToken:?b
    NodeName=nodeName:s SecurityContext=securityContext:?SPodSecurityContext
    ImagePullSecrets=imagePullSecrets:[SLocalObjectReference Hostname=hostname:s Subdomain=subdomain:s
    SetHostnameAsFQDN=setHostnameAsFQDN:?b Affinity=affinity:?SAffinity SchedulerName=schedulerName:s
    Tolerations=tolerations:[SToleration HostAliases=hostAliases:[SHostAlias
    PriorityClassName=priorityClassName:s Priority=priority:?i PreemptionPolicy=preemptionPolicy:?s
    DNSConfig=dnsConfig:?SPodDNSConfig ReadinessGates=readinessGates:[SPodReadinessGate
    RuntimeClassName=runtimeClassName:?s Overhead=overhead:{q EnableServiceLinks=enableServiceLinks:?b
    TopologySpreadConstraints=topologySpreadConstraints:[STopologySpreadConstraint OS=os:?SPodOS
    SchedulingGates=schedulingGates:[SPodSchedulingGate ResourceClaims=resourceClaims:[SPodResourceClaim
    Resources=resources:?SResourceRequirements HostnameOverride=hostnameOverride:?s
    SchedulingGroup=schedulingGroup:?SPodSchedulingGroup
PodTemplateSpec: +:SObjectMeta Spec=spec:SPodSpec
PortworxVolumeSource: VolumeID=volumeID:s FSType=fsType:s ReadOnly=readOnly:b
PreferredSchedulingTerm: Weight=weight:i Preference=preference:SNodeSelectorTerm
Probe: +:SProbeHandler InitialDelaySeconds=initialDelaySeconds:i TimeoutSeconds=timeoutSeconds:i
    PeriodSeconds=periodSeconds:i SuccessThreshold=successThreshold:i FailureThreshold=failureThreshold:i
    TerminationGracePeriodSeconds=terminationGracePeriodSeconds:?i
ProbeHandler: Exec=exec:?SExecAction HTTPGet=httpGet:?SHTTPGetAction TCPSocket=tcpSocket:?STCPSocketAction
    GRPC=grpc:?SGRPCAction
ProjectedVolumeSource: Sources=sources:[SVolumeProjection DefaultMode=defaultMode:?i
QuobyteVolumeSource: Registry=registry:s Volume=volume:s ReadOnly=readOnly:b User=user:s Group=group:s
    Tenant=tenant:s
RBDPersistentVolumeSource: CephMonitors=monitors:[s RBDImage=image:s FSType=fsType:s RBDPool=pool:s
    RadosUser=user:s Keyring=keyring:s SecretRef=secretRef:?SSecretReference ReadOnly=readOnly:b
RBDVolumeSource: CephMonitors=monitors:[s RBDImage=image:s FSType=fsType:s RBDPool=pool:s RadosUser=user:s
    Keyring=keyring:s SecretRef=secretRef:?SLocalObjectReference ReadOnly=readOnly:b
ResourceClaim: Name=name:s Request=request:s
ResourceFieldSelector: ContainerName=containerName:s Resource=resource:s Divisor=divisor:q
ResourceRequirements: Limits=limits:{q Requests=requests:{q Claims=claims:[SResourceClaim
SELinuxOptions: User=user:s Role=role:s Type=type:s Level=level:s
ScaleIOPersistentVolumeSource: Gateway=gateway:s System=system:s SecretRef=secretRef:?SSecretReference
    SSLEnabled=sslEnabled:b ProtectionDomain=protectionDomain:s StoragePool=storagePool:s
    StorageMode=storageMode:s VolumeName=volumeName:s FSType=fsType:s ReadOnly=readOnly:b
ScaleIOVolumeSource: Gateway=gateway:s System=system:s SecretRef=secretRef:?SLocalObjectReference
    SSLEnabled=sslEnabled:b ProtectionDomain=protectionDomain:s StoragePool=storagePool:s
    StorageMode=storageMode:s VolumeName=volumeName:s FSType=fsType:s ReadOnly=readOnly:b
ScopeSelector: MatchExpressions=matchExpressions:[SScopedResourceSelectorRequirement
ScopedResourceSelectorRequirement: ScopeName=scopeName:s Operator=operator:s Values=values:[s
SeccompProfile: Type=type:s LocalhostProfile=localhostProfile:?s
SecretEnvSource: +:SLocalObjectReference Optional=optional:?b
SecretKeySelector: +:SLocalObjectReference Key=key:s Optional=optional:?b
SecretProjection: +:SLocalObjectReference Items=items:[SKeyToPath Optional=optional:?b
SecretReference: Name=name:s Namespace=namespace:s
SecretVolumeSource: SecretName=secretName:s Items=items:[SKeyToPath DefaultMode=defaultMode:?i
    Optional=optional:?b
SecurityContext: Capabilities=capabilities:?SCapabilities Privileged=privileged:?b
    SELinuxOptions=seLinuxOptions:?SSELinuxOptions
    WindowsOptions=windowsOptions:?SWindowsSecurityContextOptions RunAsUser=runAsUser:?i
    RunAsGroup=runAsGroup:?i RunAsNonRoot=runAsNonRoot:?b ReadOnlyRootFilesystem=readOnlyRootFilesystem:?b
    AllowPrivilegeEscalation=allowPrivilegeEscalation:?b ProcMount=procMount:?s
    SeccompProfile=seccompProfile:?SSeccompProfile AppArmorProfile=appArmorProfile:?SAppArmorProfile
ServiceAccountTokenProjection: Audience=audience:s ExpirationSeconds=expirationSeconds:i Path=path:s
ServicePort: Name=name:s Protocol=protocol:s AppProtocol=appProtocol:?s Port=port:i
    TargetPort=targetPort:x NodePort=nodePort:i
SleepAction: Seconds=seconds:i
StorageOSPersistentVolumeSource: VolumeName=volumeName:s VolumeNamespace=volumeNamespace:s FSType=fsType:s
    ReadOnly=readOnly:b SecretRef=secretRef:?SObjectReference
StorageOSVolumeSource: VolumeName=volumeName:s VolumeNamespace=volumeNamespace:s FSType=fsType:s
    ReadOnly=readOnly:b SecretRef=secretRef:?SLocalObjectReference
Sysctl: Name=name:s Value=value:s
TCPSocketAction: Port=port:x Host=host:s
Taint: Key=key:s Value=value:s Effect=effect:s TimeAdded=timeAdded:?t
Toleration: Key=key:s Operator=operator:s Value=value:s Effect=effect:s
    TolerationSeconds=tolerationSeconds:?i
TopologySpreadConstraint: MaxSkew=maxSkew:i TopologyKey=topologyKey:s
    WhenUnsatisfiable=whenUnsatisfiable:s LabelSelector=labelSelector:?SLabelSelector
    MinDomains=minDomains:?i NodeAffinityPolicy=nodeAffinityPolicy:?s NodeTaintsPolicy=nodeTaintsPolicy:?s
    MatchLabelKeys=matchLabelKeys:[s
TypedLocalObjectReference: APIGroup=apiGroup:?s Kind=kind:s Name=name:s
TypedObjectReference: APIGroup=apiGroup:?s Kind=kind:s Name=name:s Namespace=namespace:?s
Volume: Name=name:s +:SVolumeSource
VolumeDevice: Name=name:s DevicePath=devicePath:s
VolumeMount: Name=name:s ReadOnly=readOnly:b RecursiveReadOnly=recursiveReadOnly:?s MountPath=mountPath:s
    SubPath=subPath:s MountPropagation=mountPropagation:?s SubPathExpr=subPathExpr:s
VolumeNodeAffinity: Required=required:?SNodeSelector
VolumeProjection: Secret=secret:?SSecretProjection DownwardAPI=downwardAPI:?SDownwardAPIProjection
    ConfigMap=configMap:?SConfigMapProjection
    ServiceAccountToken=serviceAccountToken:?SServiceAccountTokenProjection
    ClusterTrustBundle=clusterTrustBundle:?SClusterTrustBundleProjection
    PodCertificate=podCertificate:?SPodCertificateProjection
VolumeResourceRequirements: Limits=limits:{q Requests=requests:{q
VolumeSource: HostPath=hostPath:?SHostPathVolumeSource EmptyDir=emptyDir:?SEmptyDirVolumeSource
    GCEPersistentDisk=gcePersistentDisk:?SGCEPersistentDiskVolumeSource
    AWSElasticBlockStore=awsElasticBlockStore:?SAWSElasticBlockStoreVolumeSource
    GitRepo=gitRepo:?SGitRepoVolumeSource Secret=secret:?SSecretVolumeSource NFS=nfs:?SNFSVolumeSource
    ISCSI=iscsi:?SISCSIVolumeSource Glusterfs=glusterfs:?SGlusterfsVolumeSource
    PersistentVolumeClaim=persistentVolumeClaim:?SPersistentVolumeClaimVolumeSource
    RBD=rbd:?SRBDVolumeSource Quobyte=quobyte:?SQuobyteVolumeSource
    FlexVolume=flexVolume:?SFlexVolumeSource Cinder=cinder:?SCinderVolumeSource
    CephFS=cephfs:?SCephFSVolumeSource Flocker=flocker:?SFlockerVolumeSource
    DownwardAPI=downwardAPI:?SDownwardAPIVolumeSource FC=fc:?SFCVolumeSource
    AzureFile=azureFile:?SAzureFileVolumeSource ConfigMap=configMap:?SConfigMapVolumeSource
    VsphereVolume=vsphereVolume:?SVsphereVirtualDiskVolumeSource
    AzureDisk=azureDisk:?SAzureDiskVolumeSource
    PhotonPersistentDisk=photonPersistentDisk:?SPhotonPersistentDiskVolumeSource
    Projected=projected:?SProjectedVolumeSource PortworxVolume=portworxVolume:?SPortworxVolumeSource
    ScaleIO=scaleIO:?SScaleIOVolumeSource StorageOS=storageos:?SStorageOSVolumeSource
    CSI=csi:?SCSIVolumeSource Ephemeral=ephemeral:?SEphemeralVolumeSource Image=image:?SImageVolumeSource
VsphereVirtualDiskVolumeSource: VolumePath=volumePath:s FSType=fsType:s
    StoragePolicyName=storagePolicyName:s StoragePolicyID=storagePolicyID:s
WeightedPodAffinityTerm: Weight=weight:i PodAffinityTerm=podAffinityTerm:SPodAffinityTerm
WindowsSecurityContextOptions: GMSACredentialSpecName=gmsaCredentialSpecName:?s
    GMSACredentialSpec=gmsaCredentialSpec:?s RunAsUserName=runAsUserName:?s HostProcess=hostProcess:?b
"""
